//! The headers alone, as old and strict compilers read them.

use std::fs;
use std::process::Command;

use crate::toolchain::{BOTH, Language, WARNINGS, have, scratch, succeeds};

#[test]
fn each_header_stands_alone_in_c_and_in_c_plus_plus() {
    for (language, standard) in [
        (Language::C, "c99"),
        (Language::C, "c17"),
        (Language::Cpp, "c++11"),
        (Language::Cpp, "c++17"),
    ] {
        let compiler = language.compiler();
        if !have(&compiler, "each_header_stands_alone") {
            continue;
        }
        for library in BOTH {
            for header in ["kpack.h", "kpack_types.h", "kpack_export.h"] {
                let pid = std::process::id();
                let source =
                    scratch().join(format!("{header}-{}-{standard}.{pid}", library.name()));
                // Twice, and something behind it: it must guard itself and leave nothing open.
                let include = format!("#include <rocm_kpack/{header}>\n");
                fs::write(&source, format!("{include}{include}int after(void);\n")).unwrap();
                let mut command = Command::new(&compiler);
                command.args(["-x", if language == Language::C { "c" } else { "c++" }]);
                command.arg(format!("-std={standard}")).args(WARNINGS).arg("-fsyntax-only");
                command.arg("-I").arg(library.include()).arg(&source);
                succeeds(&mut command);
                fs::remove_file(&source).unwrap();
            }
        }
    }
}

#[test]
fn every_function_is_declared_and_no_other() {
    for library in BOTH {
        let text = fs::read_to_string(library.include().join("rocm_kpack/kpack.h")).unwrap();
        let mut names: Vec<&str> = text
            .split("\nKPACK_API ")
            .skip(1)
            .map(|declared| declared.split('(').next().unwrap())
            .map(|before| before.split_whitespace().next_back().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, library.functions());
        // Each has its documentation in front of it.
        for part in text.split("\nKPACK_API ").collect::<Vec<_>>().split_last().unwrap().1 {
            assert!(part.ends_with("*/"), "{}", &part[part.len().saturating_sub(200)..]);
        }
    }
}
