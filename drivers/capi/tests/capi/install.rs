//! What `install.sh` puts where, and programs that are built by it: with pkg-config and with CMake.
//!
//! The libraries are those of this run; the gate lets the script build them itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::toolchain::{BOTH, Language, Library, clean, have, package, succeeds};

/// Installs below `prefix`.
fn install(library: Library, prefix: &Path, libdir: &str) {
    let mut command = Command::new("bash");
    command.arg(package().join("install.sh")).arg("--prefix").arg(prefix);
    command.args(["--libdir", libdir]).arg("--from").arg(library.built("so").parent().unwrap());
    if library == Library::Documented {
        command.arg("--documented");
    }
    succeeds(command.env_remove("DESTDIR").current_dir("/"));
}

fn archive() -> PathBuf {
    rocload_fixtures::fixtures_dir().join("kpack/demo_zstd.kpack")
}

/// Runs a program that was linked with the library in `lib`.
fn run(program: &Path, lib: &Path) {
    succeeds(clean(&mut Command::new(program)).env("LD_LIBRARY_PATH", lib).arg(archive()));
}

#[test]
fn the_files_are_where_a_system_looks_for_them() {
    if !have("bash", "the_files_are_where_a_system_looks_for_them") {
        return;
    }
    for library in BOTH {
        let root = tempfile::tempdir().unwrap();
        install(library, root.path(), "lib");
        let lib = root.path().join("lib");
        let version = env!("CARGO_PKG_VERSION");
        let target = |link: &str| fs::read_link(lib.join(link)).unwrap();
        assert_eq!(target("librocm_kpack.so"), Path::new("librocm_kpack.so.0"));
        assert_eq!(target("librocm_kpack.so.0"), Path::new(&format!("librocm_kpack.so.{version}")));
        for header in fs::read_dir(library.include().join("rocm_kpack")).unwrap() {
            let header = header.unwrap();
            let installed = root.path().join("include/rocm_kpack").join(header.file_name());
            assert_eq!(fs::read(header.path()).unwrap(), fs::read(installed).unwrap());
        }
        for file in [
            "librocm_kpack.a",
            "pkgconfig/rocm_kpack.pc",
            "cmake/rocm-kpack/rocm-kpack-config.cmake",
        ] {
            assert!(lib.join(file).is_file(), "{file}");
        }
        // A second time over the first.
        install(library, root.path(), "lib");
        let left: Vec<_> =
            fs::read_dir(&lib).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".new")), "{left:?}");
    }
}

#[test]
fn pkg_config_builds_programs_of_both_kinds() {
    let test = "pkg_config_builds_programs_of_both_kinds";
    if !have("bash", test) || !have("pkg-config", test) {
        return;
    }
    for library in BOTH {
        for (libdir, linked) in [("lib", false), ("lib/x86_64-any", false), ("lib", true)] {
            let root = tempfile::tempdir().unwrap();
            let prefix = root.path().join("first");
            install(library, &prefix, libdir);
            // The folder is moved: nothing in it may say where it was.
            let moved = root.path().join("moved");
            fs::rename(&prefix, &moved).unwrap();
            let lib = moved.join(libdir);
            let mut command = Command::new("pkg-config");
            command.env("PKG_CONFIG_PATH", lib.join("pkgconfig")).args(["--cflags", "--libs"]);
            if linked {
                command.arg("--static");
            }
            let said = succeeds(command.arg("rocm_kpack")).stdout;
            let said = String::from_utf8(said).unwrap();
            let mut flags: Vec<String> = said.split_whitespace().map(Into::into).collect();
            if linked {
                // A program asks for the archive by its name, as long as there is a shared one too.
                for flag in &mut flags {
                    if flag == "-lrocm_kpack" {
                        *flag = "-l:librocm_kpack.a".into();
                    }
                }
            }
            let program = root.path().join("program");
            let mut cc = Command::new(Language::C.compiler());
            cc.args(Language::C.flags())
                .arg(package().join("tests/c/contract.c"))
                .args(["-x", "none"]);
            if library == Library::Documented {
                cc.arg("-DDOCUMENTED");
            }
            succeeds(cc.arg("-pthread").args(flags).arg("-o").arg(&program));
            run(&program, &if linked { root.path().to_path_buf() } else { lib });
        }
    }
}

#[test]
fn cmake_finds_both_targets() {
    let test = "cmake_finds_both_targets";
    if !have("bash", test) || !have("cmake", test) || !have("make", test) {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let prefix = root.path().join("prefix");
    install(Library::Shipped, &prefix, "lib");
    let (source, build) = (root.path().join("source"), root.path().join("build"));
    fs::create_dir(&source).unwrap();
    let programs = package().join("tests/c");
    let text = format!(
        "cmake_minimum_required(VERSION 3.13)\n\
         project(user C)\n\
         find_package(rocm-kpack {} REQUIRED CONFIG)\n\
         foreach(kind rocm_kpack rocm_kpack_static)\n\
           add_executable(with_${{kind}} \"{}/contract.c\")\n\
           target_link_libraries(with_${{kind}} PRIVATE rocm::${{kind}} Threads::Threads)\n\
         endforeach()\n",
        env!("CARGO_PKG_VERSION"),
        programs.display()
    );
    fs::write(source.join("CMakeLists.txt"), text).unwrap();
    let mut cmake = Command::new("cmake");
    cmake.arg("-S").arg(&source).arg("-B").arg(&build).args(["-G", "Unix Makefiles"]);
    succeeds(cmake.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())));
    succeeds(Command::new("cmake").arg("--build").arg(&build));
    let archive = archive();
    for kind in ["rocm_kpack", "rocm_kpack_static"] {
        // CMake has written where the library is into the program.
        let program = build.join(format!("with_{kind}"));
        succeeds(clean(&mut Command::new(program)).env_remove("LD_LIBRARY_PATH").arg(&archive));
    }
    // Another major version is not this one.
    let newer = fs::read_to_string(source.join("CMakeLists.txt")).unwrap();
    let newer =
        newer.replace(&format!("rocm-kpack {}", env!("CARGO_PKG_VERSION")), "rocm-kpack 9.0");
    fs::write(source.join("CMakeLists.txt"), newer).unwrap();
    let mut again = Command::new("cmake");
    again.arg("-S").arg(&source).arg("-B").arg(root.path().join("again"));
    again.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    assert!(!again.output().unwrap().status.success());
}
