//! Many threads on one archive.

use rocload_fixtures::{fixtures_dir, shared_data_or_skip};

use crate::toolchain::{BOTH, Language, Linking, program, run};

#[test]
fn threads_that_share_an_archive_get_what_one_alone_gets() {
    for library in BOTH {
        let made = program(library, Language::C, Linking::Shared, "threads.c");
        let Some(program) = made else { return };
        for name in ["demo_none", "demo_zstd"] {
            let archive = fixtures_dir().join(format!("kpack/{name}.kpack"));
            // Many rounds, since what threads race for is made in the first of each.
            for _ in 0..20 {
                run(&program, &[archive.as_os_str(), "8".as_ref(), "3".as_ref()]);
            }
        }
    }
}

#[test]
fn threads_that_share_a_large_archive() {
    let Some(data) = shared_data_or_skip("threads_that_share_a_large_archive") else { return };
    for library in BOTH {
        let made = program(library, Language::Cpp, Linking::Shared, "threads.c");
        let Some(program) = made else { return };
        for name in ["a_small_zstd", "e_rocrand_zstd"] {
            let archive = data.join(format!("kpack/{name}.kpack"));
            run(&program, &[archive.as_os_str(), "6".as_ref(), "2".as_ref()]);
        }
    }
}
