//! What can be measured, by name.

use std::env;
use std::process::{Command, Stdio};

use rocload_benches::peer;
use rocload_benches::table::Table;

use crate::{capi, counts, gguf, gpu, kpack, serve, sse, zstd};

/// A part of the report.
#[derive(Debug)]
pub(crate) struct Subject {
    /// By which it is asked for.
    pub(crate) name: &'static str,
    /// The heading.
    pub(crate) title: &'static str,
    measure: fn(&mut Table) -> peer::Result<()>,
}

/// All of them, in the order of the report.
pub(crate) const SUBJECTS: [Subject; 9] = [
    Subject { name: "kpack", title: "Kernel archives", measure: kpack::measure },
    Subject { name: "pack", title: "Packing", measure: kpack::pack },
    Subject { name: "zstd", title: "zstd", measure: zstd::measure },
    Subject { name: "capi", title: "The C library", measure: capi::measure },
    Subject { name: "gguf", title: "GGUF", measure: gguf::measure },
    Subject { name: "sse", title: "Server-sent events", measure: sse::measure },
    Subject { name: "serve", title: "Serving", measure: serve::measure },
    Subject { name: "gpu", title: "GPUs", measure: gpu::measure },
    Subject { name: "counts", title: "Instructions", measure: counts::measure },
];

impl Subject {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Subject> {
        SUBJECTS.iter().find(|subject| subject.name == name)
    }

    /// Measures it in a process of its own.
    pub(crate) fn apart(&self) -> peer::Result<Table> {
        let ran = Command::new(env::current_exe()?)
            .args(["subject", self.name])
            .stderr(Stdio::inherit())
            .output()?;
        if !ran.status.success() {
            return Err(format!("ended with {}", ran.status).into());
        }
        Ok(serde_json::from_slice(&ran.stdout)?)
    }
}

/// Measures the subject of this name in this process, and prints what it found as JSON.
pub(crate) fn run(name: &str) -> peer::Result<()> {
    let subject = Subject::named(name).ok_or("no such subject")?;
    let mut table = Table::default();
    (subject.measure)(&mut table)?;
    println!("{}", serde_json::to_string(&table)?);
    Ok(())
}
