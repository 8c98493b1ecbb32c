//! Decoding every kernel of an archive on one and on two threads.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rocload_benches::decode::Decoding;
use rocload_benches::input;

fn decode(criterion: &mut Criterion) {
    let (path, what) = input::many();
    let decoding = Decoding::new(&path).unwrap();
    let mut group = criterion.benchmark_group(format!("kpack_decode {what}"));
    group.sample_size(10).throughput(Throughput::Bytes(decoding.bytes()));
    for threads in [1, 2] {
        group.bench_function(format!("rocload, {threads} threads"), |bencher| {
            bencher.iter(|| black_box(decoding.ours(threads).unwrap()));
        });
        group.bench_function(format!("crate zstd, {threads} threads"), |bencher| {
            bencher.iter(|| black_box(decoding.peer(threads).unwrap()));
        });
    }
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);
