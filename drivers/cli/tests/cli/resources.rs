//! Memory, interruption, and a file system that runs full.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rocload_fixtures::kpack::Scheme;
use rocload_fixtures::large::Large;
use rocload_fixtures::{bad_archives, good_archives};

use super::{ROCLOAD, Ran, demo, ignores};

/// `rocload` by a shell that first says `limit`.
fn limited(limit: &str, args: &[&str], path: &Path) -> Ran {
    let script = format!("{limit} && exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, ROCLOAD]).args(args).arg(path).stdin(Stdio::null());
    command.output().unwrap().into()
}

/// Data and stacks of the process, in KiB: with 8 MiB for the program itself less than 64 MiB.
const MEMORY: &str = "ulimit -d 57344";

#[test]
fn broken_archives_take_less_than_64_mib() {
    // The limit is a limit: the same does not do for 200 MiB.
    let hungry = Command::new("sh")
        .args([
            "-c",
            &format!("{MEMORY} && exec head -c 200000000 /dev/zero | tail -c 199999999 >/dev/null"),
        ])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(!hungry.success(), "ulimit -d does not work here");
    for archive in bad_archives() {
        let ran = limited(MEMORY, &["kpack", "verify"], &archive.file()).failed(3, &archive.path);
        assert!(!ran.err.contains("no memory"), "{ran:?}");
    }
}

#[test]
fn sound_archives_take_less_than_64_mib() {
    for archive in good_archives() {
        limited(MEMORY, &["kpack", "verify", "--threads", "2"], &archive.file()).fine();
    }
}

/// A file system that runs full, by way of a limit on the size of files: SIGXFSZ is ignored, so
/// that writing fails.
#[test]
fn what_cannot_be_written_whole_is_not_left() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    // Blocks of 512 bytes: the kernels of gfx906 and gfx1030 fit, two others do not.
    let args = ["kpack", "extract", "--all", "-d", out.to_str().unwrap()];
    let ran = limited("trap '' XFSZ && ulimit -f 6", &args, &demo("zstd"));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains(": writing: file too large"), "{ran:?}");
    let mut left = Vec::new();
    walk(&out, &mut |path| left.push(path.to_path_buf()));
    assert!(!left.is_empty() && left.len() < 8, "{left:?}");
    for path in left {
        assert_eq!(path.extension().unwrap(), "hsaco", "no unfinished file: {}", path.display());
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"\x7fELF") && bytes.len() <= 6 * 512);
    }
    // And the rest comes once there is room.
    let args: Vec<&str> = args.into_iter().chain(["--json"]).collect();
    let report = limited("true", &args, &demo("zstd")).fine().json();
    assert_eq!(report["files"].as_array().unwrap().len(), 8);
}

/// A folder with files that take a while to compress, and one with a small kernel.
fn inputs(dir: &Path) -> (PathBuf, PathBuf) {
    let (large, small) = (dir.join("large"), dir.join("small"));
    for folder in [&large, &small] {
        fs::create_dir_all(folder.join("gfx906")).unwrap();
    }
    for n in 0..16 {
        let file = fs::File::create(large.join(format!("gfx906/{n:02}.hsaco"))).unwrap();
        file.set_len(64 << 20).unwrap();
    }
    let noise: Vec<u8> = (0..60_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
    fs::write(small.join("gfx906/a.hsaco"), noise).unwrap();
    (large, small)
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_killed_pack_leaves_the_old_output_and_nothing_after_the_next_run() {
    let dir = tempfile::tempdir().unwrap();
    let (large, small) = inputs(dir.path());
    let place = dir.path().join("place");
    fs::create_dir(&place).unwrap();
    let out = place.join("a.kpack");
    let pack = |input: &Path| {
        let mut command = Command::new(ROCLOAD);
        command.args(["kpack", "pack", "-q", "--level", "1", "--threads", "2"]);
        command.arg(input).arg("-o").arg(&out).stdin(Stdio::null());
        command
    };
    assert!(pack(&small).status().unwrap().success());
    let old = fs::read(&out).unwrap();
    // KILL leaves what INT and TERM remove.
    for (number, signal) in [(9, "KILL"), (9, "KILL"), (2, "INT"), (15, "TERM")] {
        if number != 9 && ignores(number) {
            eprintln!("{signal}: skipped: this process ignores it");
            continue;
        }
        let before = names(&place);
        let mut child = pack(&large).stderr(Stdio::null()).spawn().unwrap();
        wait_until("an unfinished file", || {
            let now = names(&place);
            assert!(child.try_wait().unwrap().is_none(), "it ended before it could be killed");
            now.iter().any(|name| name.starts_with(".rocload-") && !before.contains(name))
        });
        send(signal, &child);
        assert!(!child.wait().unwrap().success());
        assert!(fs::read(&out).unwrap() == old, "{signal}: the old output is whole");
        let left = names(&place);
        // What the run before had left is gone, and of this one there is one file at most.
        assert_eq!(left.len(), if number == 9 { 2 } else { 1 }, "{signal}: {left:?}");
    }
    let mut child = pack(&large).stderr(Stdio::null()).spawn().unwrap();
    wait_until("an unfinished file", || names(&place).len() > 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(names(&place).len(), 2);
    assert!(pack(&small).status().unwrap().success());
    assert_eq!(names(&place), ["a.kpack"], "no stray file is left");
    assert!(fs::read(&out).unwrap() == old, "and the same inputs make the same bytes");
}

#[test]
fn a_killed_extraction_leaves_nothing_after_the_next_run() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("large.kpack");
    Large::new(3000, 700, &["gfx1030", "gfx906"], Scheme::ZstdPerKernel).write(&archive).unwrap();
    let out = dir.path().join("out");
    let extract = || {
        let mut command = Command::new(ROCLOAD);
        command.args(["kpack", "extract", "-q", "--all", "-d"]).args([&out, &archive]);
        command.stdin(Stdio::null());
        command
    };
    for _ in 0..5 {
        let mut child = extract().spawn().unwrap();
        wait_until("a first file", || {
            let mut some = false;
            walk(&out, &mut |_| some = true);
            some || child.try_wait().unwrap().is_some()
        });
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // Whether or not one of them left a file half-written, here is one.
    let mut some = None;
    walk(&out, &mut |path| some = path.parent().map(Path::to_path_buf));
    fs::write(some.unwrap().join(".rocload-1-1.tmp"), "half").unwrap();
    assert!(extract().status().unwrap().success());
    let mut count = 0;
    walk(&out, &mut |path| {
        assert_eq!(path.extension().unwrap(), "hsaco", "{}", path.display());
        count += 1;
    });
    assert_eq!(count, 3000);
}

#[test]
fn a_pack_that_runs_out_of_room_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (_, small) = inputs(dir.path());
    let place = dir.path().join("place");
    fs::create_dir(&place).unwrap();
    let out = place.join("a.kpack");
    fs::write(&out, "the old one").unwrap();
    let args = ["kpack", "pack", "--scheme", "none", "-o", out.to_str().unwrap()];
    // The signal of such a limit, ignored or not, must not end the process.
    for limit in ["trap '' XFSZ && ulimit -f 64", "ulimit -f 64"] {
        limited(limit, &args, &small).failed(1, "a.kpack: writing the archive: file too large");
        assert_eq!(names(&place), ["a.kpack"]);
        assert_eq!(fs::read(&out).unwrap(), b"the old one");
    }
    // A file system of its own, where this process may make one.
    let script = "mount -t tmpfs -o size=32k none \"$1\" || exit 77
        \"$0\" kpack pack --scheme none \"$2\" -o \"$1/a.kpack\"
        echo \"status $?\"; ls -A \"$1\"";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, ROCLOAD]).args([&place, &small]);
    match command.output().map(Ran::from) {
        Ok(ran) if ran.code == Some(0) => {
            assert_eq!(ran.out, "status 1\n", "{ran:?}");
            assert!(ran.err.contains("no space left on device"), "{ran:?}");
        }
        _ => eprintln!("a full tmpfs: skipped: this process may not mount one"),
    }
}

fn walk(dir: &Path, found: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, found) } else { found(&path) }
    }
}

fn send(signal: &str, child: &Child) {
    let kill = format!("kill -{signal} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !reached() {
        assert!(Instant::now() < end, "{what}: not within two minutes");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_interrupted_run_leaves_whole_files_and_can_be_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("large.kpack");
    let large = Large::new(20_000, 700, &["gfx1030", "gfx906"], Scheme::ZstdPerKernel);
    large.write(&archive).unwrap();
    for (number, signal, code) in [(2, "INT", 130), (15, "TERM", 143)] {
        if ignores(number) {
            eprintln!("{signal}: skipped: this process ignores it");
            continue;
        }
        let out = dir.path().join(signal);
        let mut child = Command::new(ROCLOAD)
            .args(["kpack", "extract", "--all", "-d"])
            .args([&out, &archive])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Twenty thousand files take longer than one signal.
        wait_until("a first file", || {
            let mut some = false;
            walk(&out, &mut |_| some = true);
            some || child.try_wait().unwrap().is_some()
        });
        send(signal, &child);
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{err}");
        assert_eq!(err, if number == 2 { "rocload: interrupted\n" } else { "" });
        let mut names = Vec::new();
        walk(&out, &mut |path| names.push(path.to_path_buf()));
        assert!(names.len() < 20_000);
        assert!(names.iter().all(|name| name.extension().is_some_and(|suffix| suffix == "hsaco")));
    }
}

#[test]
fn an_interrupted_wait_ends_too() {
    // Nobody reads the pipe, so that opening it waits.
    if ignores(2) {
        eprintln!("an_interrupted_wait_ends_too: skipped: this process ignores the signal");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = Command::new(ROCLOAD)
        .args(["kpack", "extract", "--binary", "lib/libdemo.so#0", "--arch", "gfx906", "-o"])
        .args([&pipe, &demo("zstd")])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    wait_until("the handlers", || {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0)
    });
    send("INT", &child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
