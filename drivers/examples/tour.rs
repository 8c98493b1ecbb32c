//! Kernels, a model and this machine's GPUs, on the files of the repository:
//! `cargo run -p rocload --example tour`.

use std::path::Path;

use rocload::gpu::{Environment, Policy, SysRoot, scan};
use rocload::{Archive, Error, Model};

fn kernels(path: &Path) -> Result<(), Error> {
    let archive = Archive::open(path)?; // reads the header and the table, nothing else
    let entry = archive.entry("lib/libdemo.so#0", "gfx90a")?; // sizes before anything is allocated
    let kernel = archive.kernel("lib/libdemo.so#0", "gfx90a")?;
    println!("{} bytes, {} as the table says", kernel.len(), entry.size);
    Ok(())
}

fn model(path: &Path) -> Result<(), Error> {
    let model = Model::open(path)?; // a header of any size, in constant memory
    let facts = model.facts();
    if let Some(file_type) = facts.summary().file_type() {
        println!("{file_type}, whole: {}", facts.verdict().is_whole()); // such as Q4_K_M, whole: true
    }
    Ok(())
}

fn gpus() -> Result<(), Error> {
    let mut gpus = scan(&SysRoot::host()?)?; // sysfs and KFD, paired and tried; no card is woken
    let selection = gpus.select(&Policy::default(), &Environment::current());
    println!("{:?}, {:?}", selection.mask, selection.problem); // every GPU has its reason
    Ok(())
}

pub(crate) fn tour() -> Result<(), Error> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    kernels(&fixtures.join("kpack/demo_zstd.kpack"))?;
    model(&fixtures.join("gguf/tiny-llama.gguf"))?;
    gpus()
}

fn main() -> Result<(), Error> {
    tour()
}
