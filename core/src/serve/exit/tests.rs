//! The table of ends, row by row.

use super::*;
use crate::serve::log::fact;

fn evidence(lines: &[&str]) -> Evidence {
    let mut evidence = Evidence::default();
    for line in lines {
        evidence.see(&fact(line.as_bytes()));
    }
    evidence
}

fn class(exit: Exit, lines: &[&str]) -> Class {
    classify(exit, &evidence(lines), Orders::default())
}

#[test]
fn each_row_of_the_table() {
    use Exit::{Code, Signal};
    let load = "0.00.1 E srv load_model: failed to load model, 'm.gguf'";
    for (exit, lines, wanted) in [
        (Code(0), &[][..], Class::ExitedUnasked),
        (
            Code(1),
            &["0.00.1 E srv start: couldn't bind HTTP server socket, hostname: x"],
            Class::BindConflict,
        ),
        (
            Code(1),
            &["E gguf_init_from_file: failed to open GGUF file 'm' (No such file)", load],
            Class::ModelMissing,
        ),
        (
            Code(1),
            &[
                "llama_model_load: error loading model: tensor 't' data is not within the file bounds",
                load,
            ],
            Class::ModelBroken,
        ),
        (
            Code(1),
            &["llama_model_load: error loading model: unknown model architecture: 'x'", load],
            Class::ModelUnsupported,
        ),
        (Code(1), &[load], Class::ModelBroken),
        (Code(1), &["error: invalid argument: --bogus"], Class::BadFlag),
        (Code(1), &["error: invalid argument: "], Class::BadFlag),
        (Code(1), &["error while handling argument \"-c\": stoi"], Class::BadFlag),
        (
            Code(1),
            &[
                "0.1 E ggml_backend_cuda: allocating 99 MiB on device 0: cudaMalloc failed: out of memory",
                load,
            ],
            Class::OutOfMemory,
        ),
        (Code(1), &["all is well"], Class::Failed),
        (Code(3), &[], Class::Failed),
        (Code(127), &[], Class::NotRunnable),
        (Code(126), &[], Class::NotRunnable),
        (Signal(9), &[], Class::Killed),
        (Code(137), &[], Class::Killed),
        (Signal(4), &[], Class::WrongCpuBuild),
        (Code(132), &[load], Class::WrongCpuBuild),
        (Signal(6), &["ROCm error: unspecified launch failure"], Class::GpuFault),
        (Signal(6), &["ROCm error: invalid device function"], Class::WrongGpuBuild),
        (Signal(6), &["ROCm error: device kernel image is invalid"], Class::WrongGpuBuild),
        (Signal(6), &["ROCm error: out of memory"], Class::OutOfMemory),
        (
            Signal(6),
            &["Memory access fault by GPU node-1 on address 0x7f. Reason: Unknown."],
            Class::GpuFault,
        ),
        (Signal(6), &["/src/ggml.c:3212: GGML_ASSERT(ne == 1) failed"], Class::Assertion),
        (Signal(6), &[], Class::Crash),
        (Signal(11), &[], Class::Crash),
        (Signal(7), &[], Class::Crash),
        (Signal(8), &[], Class::Crash),
        (Signal(15), &[], Class::Terminated),
        (Code(130), &[], Class::Terminated),
    ] {
        assert_eq!(class(exit, lines), wanted, "{exit:?} {lines:?}");
    }
}

#[test]
fn what_we_did_counts_first() {
    let term = Orders { term: true, kill: false };
    let both = Orders { term: true, kill: true };
    let none = Evidence::default();
    for exit in [Exit::Code(0), Exit::Signal(15), Exit::Code(143), Exit::Signal(2)] {
        assert_eq!(classify(exit, &none, term), Class::StoppedClean, "{exit:?}");
    }
    assert_eq!(classify(Exit::Signal(9), &none, both), Class::KilledByUs);
    // In time after all.
    assert_eq!(classify(Exit::Code(0), &none, both), Class::StoppedClean);
    assert_eq!(classify(Exit::Signal(9), &none, term), Class::Killed);
    assert_eq!(classify(Exit::Signal(11), &none, term), Class::Crash);
    let oom = Evidence { oom_kill: true, ..none };
    assert_eq!(classify(Exit::Signal(9), &oom, term), Class::OomKilled);
}

#[test]
fn a_path_is_no_evidence() {
    for path in ["out of memory.gguf", "ROCm error.gguf", "it's 'out of memory'", "GGML_ASSERT"] {
        let lines = [
            alloc::format!("0.00.1 I srv load_model: loading model '{path}'"),
            alloc::format!(
                "0.00.1 E llama_model_load: error loading model: llama_model_loader: failed to load model from {path}"
            ),
            alloc::format!("0.00.1 E srv load_model: failed to load model, '{path}'"),
        ];
        let lines: alloc::vec::Vec<&str> =
            lines.iter().map(alloc::string::String::as_str).collect();
        assert_eq!(class(Exit::Code(1), &lines), Class::ModelBroken, "{path}");
    }
}

#[test]
fn what_was_tried_again_is_no_evidence() {
    let line = "0.1 W graph_reserve: failed to allocate compute buffers, retrying without pipeline parallelism";
    assert_eq!(class(Exit::Code(1), &[line]), Class::Failed);
}

#[test]
fn names_are_their_own_and_texts_are_lines() {
    for (at, class) in Class::ALL.iter().enumerate() {
        assert!(Class::ALL[..at].iter().all(|other| other.name() != class.name()));
        let text = alloc::format!("{class}{}", class.advice());
        assert!(!text.contains('\n') && !alloc::string::ToString::to_string(class).is_empty());
        // Nothing but an end in order asks for nothing to be done.
        let fine = matches!(class, Class::StoppedClean | Class::KilledByUs);
        assert_eq!(class.advice().is_empty(), fine, "{class:?}");
    }
}
