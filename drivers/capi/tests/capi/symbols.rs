//! What the libraries show to a linker.

use std::process::Command;

use crate::toolchain::{BOTH, have, succeeds};

#[test]
fn exactly_the_promised_functions_are_exported() {
    if !have("nm", "exactly_the_promised_functions_are_exported") {
        return;
    }
    for library in BOTH {
        let mut nm = Command::new("nm");
        let out = succeeds(nm.args(["-D", "--defined-only"]).arg(library.built("so")));
        let text = String::from_utf8(out.stdout).unwrap();
        let mut names: Vec<&str> =
            text.lines().map(|line| line.split_whitespace().next_back().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, library.functions(), "{}", library.name());
        // Each of them is a function, none of them weak.
        assert!(text.lines().all(|line| line.contains(" T ")), "{text}");
    }
}

#[test]
fn the_archive_has_them_too() {
    if !have("nm", "the_archive_has_them_too") {
        return;
    }
    for library in BOTH {
        let mut nm = Command::new("nm");
        let out = nm.args(["-g", "--defined-only"]).arg(library.built("a")).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        let mut names: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_whitespace().next_back())
            .filter(|name| name.starts_with("kpack_"))
            .collect();
        names.sort_unstable();
        assert_eq!(names, library.functions(), "{}", library.name());
    }
}

#[test]
fn the_name_is_that_of_the_shipped_library() {
    if !have("readelf", "the_name_is_that_of_the_shipped_library") {
        return;
    }
    for library in BOTH {
        let mut readelf = Command::new("readelf");
        let out = succeeds(readelf.args(["-d", "-W"]).arg(library.built("so")));
        let text = String::from_utf8(out.stdout).unwrap();
        let name: Vec<&str> = text.lines().filter(|line| line.contains("(SONAME)")).collect();
        assert_eq!(name.len(), 1, "{text}");
        assert!(name[0].ends_with("[librocm_kpack.so.0]"), "{}", name[0]);
        // Nothing but the C library and the unwinder: no zstd, no msgpack, no C++.
        for line in text.lines().filter(|line| line.contains("(NEEDED)")) {
            let known =
                ["libc.so", "libgcc_s.so", "libm.so", "libpthread.so", "libdl.so", "ld-linux"];
            assert!(known.iter().any(|name| line.contains(name)), "{line}");
        }
    }
}
