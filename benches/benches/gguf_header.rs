//! Reading the headers of model files from the page cache.
#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use rocload_benches::gguf;

fn header(criterion: &mut Criterion) {
    for (name, path) in [
        ("6 GB sparse", gguf::sparse()),
        ("vocabulary of 6 MB", gguf::vocabulary()),
        ("tiny model", gguf::tiny()),
    ] {
        let mut group = criterion.benchmark_group(format!("gguf_header {name}"));
        group.bench_function("rocload, wanted keys", |bencher| {
            bencher.iter(|| gguf::open_wanted(&path).unwrap());
        });
        group.bench_function("rocload, summary", |bencher| {
            bencher.iter(|| gguf::open_summary(&path).unwrap());
        });
        group.bench_function("rocload, check", |bencher| {
            bencher.iter(|| gguf::open_check(&path).unwrap());
        });
        group.sample_size(10);
        group.bench_function("candle-core", |bencher| {
            bencher.iter(|| gguf::candle(&path).unwrap());
        });
        group.bench_function("gguf-rs, all arrays", |bencher| {
            bencher.iter(|| gguf::gguf_rs(&path, u64::MAX).unwrap());
        });
        group.finish();
    }
}

criterion_group!(benches, header);
criterion_main!(benches);
