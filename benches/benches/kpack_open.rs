//! Opening an archive of 20,000 kernels from the page cache, index included.
#![allow(missing_docs)]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use rocload::Archive;
use rocload_benches::{input, peer};

fn open(criterion: &mut Criterion) {
    let path = input::large();
    let mut group = criterion.benchmark_group("kpack_open 20,000 kernels");
    // One archive at a time: what it holds is dropped outside of the time.
    let one = BatchSize::PerIteration;
    group.bench_function("rocload", |bencher| {
        bencher.iter_batched(|| (), |()| Archive::open(&path).unwrap(), one);
    });
    group.bench_function("rmp-serde into HashMap", |bencher| {
        bencher.iter_batched(|| (), |()| peer::table::open(&path).unwrap(), one);
    });
    group.sample_size(20);
    group.bench_function("whole file, then the same", |bencher| {
        bencher.iter_batched(|| (), |()| peer::table::open_whole(&path).unwrap(), one);
    });
    group.finish();
}

criterion_group!(benches, open);
criterion_main!(benches);
