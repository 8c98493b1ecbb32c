//! How many inputs of its corpus a target runs in a second, without a fuzzer around it.
//!
//! `cargo run --release -p rocload-fuzz --example speed -- SECONDS [TARGET...]`; without names, all.

use std::path::Path;
use std::time::{Duration, Instant};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().and_then(|seconds| seconds.parse().ok()).unwrap_or(2);
    let names: Vec<String> = arguments.collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    for (name, target) in rocload_fuzz::TARGETS.iter().filter(|(name, _)| wanted(name)) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let inputs: Vec<Vec<u8>> =
            files.filter_map(|file| std::fs::read(file.path()).ok()).collect();
        let (start, mut runs) = (Instant::now(), 0u64);
        let most = Duration::from_secs(seconds);
        while !inputs.is_empty() && start.elapsed() < most {
            for input in &inputs {
                target(input);
                runs += 1;
            }
        }
        println!("{name}: {:.0} a second", runs as f64 / start.elapsed().as_secs_f64());
    }
}
