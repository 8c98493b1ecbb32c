//! Fetching the last of 20,000 kernels: the first time, which walks the frames, and later.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use rocload::Archive;
use rocload_benches::{input, peer};
use rocload_fixtures::large::Large;

fn get(criterion: &mut Criterion) {
    let path = input::large();
    let (binary, arch) = input::last(&Large::twenty_thousand());
    let mut group = criterion.benchmark_group("kpack_get the last of 20,000");
    group.bench_function("rocload, first", |bencher| {
        bencher.iter_batched(
            || Archive::open(&path).unwrap(),
            |archive| {
                let kernel = archive.kernel(&binary, &arch).unwrap();
                (archive, kernel)
            },
            BatchSize::PerIteration,
        );
    });

    let (file, table) = peer::table::open(&path).unwrap();
    let row = &table.toc[&binary][&arch];
    let size = usize::try_from(row.original_size).unwrap();
    group.bench_function("pread of each length word, crate zstd", |bencher| {
        bencher.iter(|| {
            let start = table.zstd_offset;
            black_box(peer::frames::fetch(&file, start, row.ordinal, size).unwrap())
        });
    });

    let archive = Archive::open(&path).unwrap();
    archive.walk_frames().unwrap();
    group.bench_function("rocload, later", |bencher| {
        bencher.iter(|| black_box(archive.kernel(&binary, &arch).unwrap()));
    });
    let (at, len) = peer::frames::find(&file, table.zstd_offset, row.ordinal).unwrap();
    group.bench_function("its place known, pread and crate zstd", |bencher| {
        bencher.iter(|| black_box(peer::frames::read(&file, at, len, size).unwrap()));
    });
    group.finish();
}

criterion_group!(benches, get);
criterion_main!(benches);
