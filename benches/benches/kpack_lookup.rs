//! Looking up kernels of an archive of 20,000 in random order: found, and not found.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use rocload::Archive;
use rocload_benches::input::{self, Key};
use rocload_benches::peer;

fn lookup(criterion: &mut Criterion) {
    let path = input::large();
    let archive = Archive::open(&path).unwrap();
    let (_, table) = peer::table::open(&path).unwrap();
    let (hashed, tree) = (table.hashed(), table.tree());
    let present = input::shuffled(&archive);
    let absent = input::absent(&present);

    for (what, keys) in [("hit", &present), ("miss", &absent)] {
        let mut next = keys.iter().cycle();
        let mut next = || next.next().unwrap();
        let mut group = criterion.benchmark_group(format!("kpack_lookup {what}"));
        group.bench_function("rocload", |bencher| {
            bencher.iter(|| {
                let (binary, arch) = next();
                black_box(archive.toc().find(binary.as_bytes(), arch.as_bytes()).unwrap())
            });
        });
        group.bench_function("HashMap of both names", |bencher| {
            bencher.iter(|| black_box(hashed.get(next() as &Key)));
        });
        group.bench_function("HashMap in HashMap", |bencher| {
            bencher.iter(|| {
                let (binary, arch) = next();
                black_box(table.toc.get(binary).and_then(|arches| arches.get(arch)))
            });
        });
        group.bench_function("BTreeMap of both names", |bencher| {
            bencher.iter(|| black_box(tree.get(next() as &Key)));
        });
        group.finish();
    }
}

criterion_group!(benches, lookup);
criterion_main!(benches);
