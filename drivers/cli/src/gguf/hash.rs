//! `rocload gguf hash`: the SHA-256 of each tensor.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use clap::error::ErrorKind as UsageKind;
use rocload::core::gguf::{Item, TensorInfo, Want};
use rocload::error::printable;
use rocload::{FileAt, ReadAt};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::input;
use crate::failure::{Failure, Status};
use crate::progress::Progress;
use crate::text;
use crate::ui::Ui;

/// Print the SHA-256 of each tensor's data
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload gguf hash model.gguf
  rocload gguf hash a.gguf > a.sums; rocload gguf hash b.gguf | diff a.sums -

The metadata has no part in it: files that differ in their keys alone have the same lines. Standard
input (-) is a header without its data, so it has no sums.")]
pub(super) struct Hash {
    /// Models
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Bytes that are read at once.
const PIECE: usize = 256 << 10;

#[derive(Serialize)]
struct HashJson<'a> {
    file: std::borrow::Cow<'a, str>,
    tensor: std::borrow::Cow<'a, str>,
    sha256: Option<String>,
    size: Option<u64>,
}

impl Hash {
    pub(super) fn check(&self) -> Result<(), (UsageKind, String)> {
        if self.files.iter().any(|path| path.as_os_str() == "-") {
            let text = "a header on standard input has no tensors to hash: give the file's name";
            return Err((UsageKind::InvalidValue, text.into()));
        }
        Ok(())
    }

    pub(super) fn run(self, ui: &mut Ui) {
        for path in input::expand(ui, &self.files) {
            if ui.is_closed() {
                return;
            }
            let Some(input) = input::open_or_tell(ui, &path) else { continue };
            let facts = input.model.facts();
            let (source, start) = (input.model.source(), facts.verdict().start.offset);
            let progress = Progress::new(ui, "hashing", facts.verdict().data_bytes);
            let mut failures = Vec::new();
            let mut piece = vec![0; PIECE];
            let walked = input.model.visit(Want::Nothing, |item| {
                let Item::Tensor(tensor) = item else { return ControlFlow::Continue(()) };
                let sum = hash(source, start, &tensor.info, &mut piece, &progress);
                let failed = |why: String| {
                    let name = rocload::error::shortened(tensor.name);
                    Failure::new(Status::Malformed, "tensor", format!("{name}: {why}")).at(&path)
                };
                let sum = match sum {
                    Ok(sum) => Some(text::hex(&sum)),
                    Err(Unhashed::Size) => {
                        failures
                            .push(failed(format!("the size of {} is not known", tensor.info.ty)));
                        None
                    }
                    Err(Unhashed::Short(missing)) => {
                        let missing = text::count(missing, "byte is", "bytes are");
                        failures.push(failed(format!("{missing} missing")));
                        None
                    }
                    // Which the walk tells as well.
                    Err(Unhashed::Changed) => return ControlFlow::Break(()),
                    Err(Unhashed::Io(error)) => {
                        failures.push(Failure::io("reading tensor data", &error).at(&path));
                        return ControlFlow::Break(());
                    }
                };
                if ui.json {
                    ui.json_line(&HashJson {
                        file: path.to_string_lossy(),
                        tensor: String::from_utf8_lossy(tensor.name),
                        sha256: sum,
                        size: tensor.info.size,
                    });
                } else if let Some(sum) = sum {
                    let _ = writeln!(ui.out(), "{sum}  {}", printable(tensor.name));
                }
                if ui.is_closed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            progress.clear();
            if let Err(error) = walked {
                failures.push(Failure::library(&error, &path));
            }
            if !failures.is_empty() {
                ui.fail_all(&failures, &crate::failure::printable_path(&path));
            }
        }
    }
}

/// Why a tensor has no sum.
enum Unhashed {
    Size,
    Short(u64),
    Changed,
    Io(std::io::Error),
}

fn hash(
    source: &FileAt,
    start: u64,
    info: &TensorInfo,
    piece: &mut [u8],
    progress: &Progress,
) -> Result<[u8; 32], Unhashed> {
    let mut left = info.size.ok_or(Unhashed::Size)?;
    let mut at = start.saturating_add(info.offset);
    let mut hash = Sha256::new();
    while left > 0 {
        let want = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        let read = source.read_full_at(&mut piece[..want], at).map_err(Unhashed::Io)?;
        if source.changed() {
            return Err(Unhashed::Changed);
        }
        if read < want {
            return Err(Unhashed::Short(left - read as u64));
        }
        hash.update(&piece[..want]);
        progress.add(want as u64);
        (left, at) = (left - want as u64, at.saturating_add(want as u64));
    }
    Ok(hash.finalize().into())
}
