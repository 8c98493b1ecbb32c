//! Full disks, files that may not be read, sources that change meanwhile, outputs that take little
//! at once.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rocload_fixtures::gguf::Raw;
use rocload_fixtures::kpack::{Builder, Scheme};
use rocload_fixtures::object::bundle;
use rocload_fixtures::rng::Rng;
use rustix::process::{Pid, Signal, getuid, kill_process};
use tempfile::TempDir;

use super::{ROCLOAD, Ran, command, demo, model};

/// Bytes that do not get smaller.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..len).map(|_| rng.below(256) as u8).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What every command that writes is given: an archive, a model and a bundle, whose kernels and data
/// are longer than 64 KiB each.
struct Inputs(TempDir);

impl Inputs {
    fn new() -> Inputs {
        let inputs = Inputs(tempfile::tempdir().unwrap());
        let (one, other) = (noise(90_000, 1), noise(95_000, 2));
        let archive = Builder::new(Scheme::None).kernel("lib/liba.so#0", "gfx1030", &one).kernel(
            "lib/libb.so#0",
            "gfx1030",
            &other,
        );
        fs::write(inputs.at("a.kpack"), archive.build()).unwrap();
        let ids: [(&str, &[u8]); 2] = [
            ("hipv4-amdgcn-amd-amdhsa--gfx1030", &one),
            ("hipv4-amdgcn-amd-amdhsa--gfx906", &other),
        ];
        fs::write(inputs.at("lib.so"), bundle(&ids, 4096)).unwrap();
        fs::copy(model("tiny-llama.gguf"), inputs.at("m.gguf")).unwrap();
        inputs
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Every command that makes files, with the file in `place` that it is about to make first.
    fn commands(&self, place: &Path) -> Vec<(Vec<String>, PathBuf)> {
        let text = |path: PathBuf| path.into_os_string().into_string().unwrap();
        let [archive, lib, model] = ["a.kpack", "lib.so", "m.gguf"].map(|name| text(self.at(name)));
        let out = text(place.join("out"));
        let folder = text(place.to_path_buf());
        let lines = [
            (vec!["kpack", "extract", &archive, "--binary", "lib/liba.so#0"], "out"),
            (
                vec!["kpack", "extract", &archive, "--all", "-d", &folder],
                "gfx1030/lib/liba.so#0.hsaco",
            ),
            (vec!["kpack", "repack", &archive, "--scheme", "none", "-o", &out], "out"),
            (
                vec!["kpack", "split", &lib, "--scheme", "none", "--force", "-d", &folder],
                "lib_gfx1030.kpack",
            ),
            (vec!["bundle", "extract", &lib, "-d", &folder], ""),
            (vec!["gguf", "set", &model, "general.name=x", "--force", "-o", &out], "out"),
        ];
        let line = |(mut words, file): (Vec<&str>, &str)| {
            if words[1] == "extract" && words[0] == "kpack" && file == "out" {
                words.extend(["--arch", "gfx1030", "-o", &out]);
            }
            (words.into_iter().map(str::to_owned).collect(), place.join(file))
        };
        lines.into_iter().map(line).collect()
    }
}

/// It failed by the disk in one line about a file below `place`, and nothing is half-written.
#[track_caller]
fn ran_out_of_room(line: &[String], code: Option<i32>, err: &str, place: &Path, why: &str) {
    assert_eq!(code, Some(1), "{line:?}: {err}");
    let errors: Vec<&str> = err.lines().filter(|line| line.ends_with(why)).collect();
    assert!(!errors.is_empty(), "{line:?}: {err}");
    for error in errors {
        let named = format!("rocload: {}", place.display());
        assert!(error.starts_with(&named), "{line:?}: {error}");
    }
    assert!(!err.contains("panicked"), "{err}");
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

/// By a limit on the size of files, which works everywhere.
#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    let inputs = Inputs::new();
    let count = inputs.commands(Path::new("/")).len();
    for number in 0..count {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path();
        let (line, first) = inputs.commands(place).swap_remove(number);
        if first != place {
            fs::create_dir_all(first.parent().unwrap()).unwrap();
            fs::write(&first, "the old one").unwrap();
        }
        let script = "trap '' XFSZ && ulimit -f 16 && exec \"$0\" \"$@\"";
        let mut command = Command::new("sh");
        let ran = command.args(["-c", script, ROCLOAD]).args(&line).stdin(Stdio::null());
        let ran: Ran = ran.output().unwrap().into();
        ran_out_of_room(&line, ran.code, &ran.err, place, "file too large");
        let mut left = Vec::new();
        walk(place, &mut left);
        if first == place {
            assert!(left.is_empty(), "{line:?}: {left:?}");
        } else {
            assert_eq!(left, std::slice::from_ref(&first), "{line:?}");
            assert_eq!(fs::read(&first).unwrap(), b"the old one", "{line:?}");
        }
    }
}

/// By a file system of 64 KiB, where this process may mount one.
#[test]
fn a_full_file_system_leaves_the_old_file_and_nothing_else() {
    let inputs = Inputs::new();
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    // After its output: the status, and what is there.
    let script = "mount -t tmpfs -o size=64k none \"$0\" || exit 77
        if [ -n \"$1\" ]; then mkdir -p \"$(dirname \"$1\")\"; echo old > \"$1\"; fi; shift
        \"$@\"; echo \"status $?\"; cd \"$0\"; find . -type f | xargs -r cat; find . -type f | wc -l";
    for (line, first) in inputs.commands(place) {
        let first = if first == place { PathBuf::new() } else { first };
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script]).arg(place).arg(&first).arg(ROCLOAD);
        let ran: Ran = match command.args(&line).stdin(Stdio::null()).output() {
            Ok(output) if output.status.code() == Some(0) => output.into(),
            _ => {
                eprintln!("a full file system: skipped: this process may not mount one");
                return;
            }
        };
        let told = ran.out.lines().find_map(|line| line.strip_prefix("status "));
        let code = told.and_then(|status| status.parse().ok());
        ran_out_of_room(&line, code, &ran.err, place, "no space left on device");
        let (_, left) = ran.out.split_once("status 1\n").unwrap();
        if line[1] == "extract" && line.iter().any(|word| word == "-d") {
            // What there was room for is there, whole, and nothing besides.
            let count: usize = left.lines().last().unwrap().parse().unwrap();
            assert!(count <= 1, "{line:?}: {ran:?}");
        } else {
            assert_eq!(left, "old\n1\n", "{line:?}");
        }
    }
}

#[test]
fn results_that_cannot_be_written_are_an_error_of_every_command() {
    let inputs = Inputs::new();
    let lines = [
        ("kpack info", "a.kpack"),
        ("kpack list --json", "a.kpack"),
        ("kpack verify", "a.kpack"),
        ("bundle list", "lib.so"),
        ("gguf show", "m.gguf"),
        ("gguf show --json", "m.gguf"),
        ("gguf tensors", "m.gguf"),
        ("gguf hash", "m.gguf"),
        ("gguf template", "m.gguf"),
        ("gguf verify", "m.gguf"),
    ];
    for (words, file) in lines {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut run = command();
        run.args(words.split(' ')).arg(inputs.at(file)).stdout(full).stderr(Stdio::piped());
        let ran: Ran = run.output().unwrap().into();
        ran.failed(1, "writing to standard output: no space left on device");
    }
}

/// As a user whom permissions bind: as another one, where this process is root's.
fn bound(dir: &Path, args: &[&str]) -> Option<Ran> {
    let program = dir.join("rocload");
    if !getuid().is_root() {
        return Some(command().args(args).output().unwrap().into());
    }
    if !program.exists() {
        // The built one may be where nobody else may go.
        fs::copy(ROCLOAD, &program).unwrap();
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    match command.arg(&program).args(args).stdin(Stdio::null()).output() {
        Ok(output) if !matches!(output.status.code(), Some(126 | 127)) => Some(output.into()),
        failed => {
            eprintln!("files that may not be read: skipped: no other user can be had: {failed:?}");
            None
        }
    }
}

#[test]
fn what_may_not_be_read_is_told_and_the_rest_is_done() {
    let inputs = Inputs::new();
    let dir = inputs.0.path();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    mode(dir, 0o755).unwrap();
    let at = |name: &str| inputs.at(name).into_os_string().into_string().unwrap();
    fs::create_dir_all(at("models/shut")).unwrap();
    for name in ["models/good.gguf", "models/secret.gguf", "models/shut/x.gguf"] {
        fs::copy(at("m.gguf"), at(name)).unwrap();
    }
    fs::copy(at("a.kpack"), at("secret.kpack")).unwrap();
    fs::create_dir_all(at("kernels/gfx1030")).unwrap();
    for name in ["kernels/gfx1030/a.hsaco", "kernels/gfx1030/b.hsaco"] {
        fs::write(at(name), noise(100, 3)).unwrap();
    }
    fs::create_dir(at("closed")).unwrap();
    for name in ["models/secret.gguf", "models/shut", "secret.kpack", "kernels/gfx1030/b.hsaco"] {
        mode(at(name).as_ref(), 0).unwrap();
    }
    mode(at("closed").as_ref(), 0o555).unwrap();

    let Some(ran) = bound(dir, &["gguf", "list", "-r", &at("models")]) else { return };
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("good.gguf"), "{ran:?}");
    for name in ["models/secret.gguf", "models/shut"] {
        let line = ran.err.lines().find(|line| line.contains(name));
        assert!(line.is_some_and(|line| line.ends_with("permission denied")), "{ran:?}");
    }

    let run = |args: &[&str]| bound(dir, args).unwrap();
    let ran = run(&["kpack", "verify", &at("secret.kpack"), &at("a.kpack")]);
    assert!(ran.out.contains("a.kpack"), "{ran:?}");
    ran.failed(1, "secret.kpack: opening the archive: permission denied");
    run(&["gguf", "show", &at("models/secret.gguf")])
        .failed(1, "secret.gguf: opening the model: permission denied");
    run(&["gguf", "list", &at("models/shut")]).failed(1, "models/shut: ");
    // No part of an archive is made of what can be read alone, and a folder takes what it takes.
    run(&["kpack", "pack", &at("kernels"), "-o", &at("closed/x.kpack")]).failed(1, "denied");
    fs::create_dir(at("open")).unwrap();
    mode(at("open").as_ref(), 0o777).unwrap();
    run(&["kpack", "pack", &at("kernels"), "-o", &at("open/x.kpack")])
        .failed(1, "b.hsaco: reading the kernel: permission denied");
    assert_eq!(names(at("open").as_ref()), [""; 0]);
    run(&["kpack", "extract", &at("a.kpack"), "--all", "-d", &at("closed/new")])
        .failed(1, "closed/new: opening: permission denied");
    assert_eq!(names(at("closed").as_ref()), [""; 0]);
    // So that the folder can be removed by anybody.
    mode(at("models/shut").as_ref(), 0o700).unwrap();
    mode(at("closed").as_ref(), 0o700).unwrap();
}

/// A command that is held in the middle of its work.
struct Held(Child);

impl Held {
    /// Starts it and holds it once something is so; `None` when it was done before.
    fn start(args: &[&str], mut reached: impl FnMut(u32) -> bool) -> Option<Held> {
        let mut command = command();
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(120);
        while !reached(child.id()) {
            if child.try_wait().unwrap().is_some() {
                return None;
            }
            assert!(Instant::now() < end, "{args:?}: not within two minutes");
            thread::sleep(Duration::from_micros(500));
        }
        let held = Held(child);
        held.signal(Signal::STOP);
        Some(held)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Lets it go on to its end.
    fn end(self) -> Ran {
        self.signal(Signal::CONT);
        self.0.wait_with_output().unwrap().into()
    }
}

/// Bytes that a process has read.
fn read(pid: u32) -> u64 {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.map_or(0, |count| count.parse().unwrap())
}

type Change = (&'static str, fn(&Path));

/// Changes of a file that is being read.
const CHANGES: [Change; 2] = [
    ("cut", |path| File::options().write(true).open(path).unwrap().set_len(5000).unwrap()),
    ("touched", |path| {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }),
];

#[test]
fn a_model_that_changes_while_it_is_read_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).into_os_string().into_string().unwrap();
    let (path, out) = (at("m.gguf"), at("out.gguf"));
    let mut raw = Raw::new(3, false);
    raw.counts(1, 1);
    raw.text_pair("general.architecture", "llama");
    raw.tensor("large", &[64 << 20], 0, 0);
    raw.align(32);
    for (what, change) in CHANGES {
        for words in [&["gguf", "hash", &path][..], &["gguf", "set", &path, "a:u8=1", "-fo", &out]]
        {
            fs::write(&path, &raw.0).unwrap();
            let len = raw.0.len() as u64 + (256 << 20);
            File::options().write(true).open(&path).unwrap().set_len(len).unwrap();
            fs::write(&out, "the old one").unwrap();
            // Some of the data was read, and far from all of it.
            let Some(held) = Held::start(words, |pid| read(pid) > 2 << 20) else {
                panic!("{words:?}: it ended before it could be held");
            };
            change(path.as_ref());
            let ran = held.end();
            assert!(!ran.out.contains("large"), "no sum: {ran:?}");
            ran.failed(1, "changed");
            assert_eq!(fs::read(&out).unwrap(), b"the old one", "{what}: {words:?}");
            assert_eq!(names(dir.path()), ["m.gguf", "out.gguf"], "{what}: {words:?}");
        }
    }
}

#[test]
fn an_archive_that_changes_while_it_is_read_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).into_os_string().into_string().unwrap();
    let (path, place, out) = (at("a.kpack"), at("place"), at("place/b.kpack"));
    let kernel = |n: u64| noise(1 << 20, n);
    let key = |n: u64| format!("lib/lib{n:02}.so#0");
    let add = |builder: Builder, n| builder.kernel(&key(n), "gfx1030", &kernel(n));
    let bytes = (0..24).fold(Builder::new(Scheme::None), add).build();
    for (what, change) in CHANGES {
        // Slow enough by its level to be held in the middle.
        fs::write(&path, &bytes).unwrap();
        fs::create_dir_all(&place).unwrap();
        fs::write(&out, "the old one").unwrap();
        let words = ["kpack", "repack", &path, "--scheme", "zstd", "--level", "19", "-o", &out];
        let held = Held::start(&words, |_| names(place.as_ref()).len() > 1);
        let held = held.expect("it is held before it ends");
        change(path.as_ref());
        held.end().failed(1, "the file has changed since it was opened");
        assert_eq!(names(place.as_ref()), ["b.kpack"], "{what}");
        assert_eq!(fs::read(&out).unwrap(), b"the old one", "{what}");

        // What was extracted before is whole, and nothing else is there.
        fs::write(&path, &bytes).unwrap();
        let folder = at(what);
        let words = ["kpack", "extract", &path, "--all", "--threads", "1", "-d", &folder];
        let some = |_| Path::new(&folder).join("gfx1030/lib/lib01.so#0.hsaco").exists();
        let held = Held::start(&words, some).expect("it is held before it ends");
        change(path.as_ref());
        let ran = held.end();
        assert_eq!(ran.code, Some(1), "{what}: {ran:?}");
        assert!(ran.err.contains("the file has changed since it was opened"), "{what}: {ran:?}");
        let mut left = Vec::new();
        walk(folder.as_ref(), &mut left);
        assert!((2..24).contains(&left.len()), "{what}: {left:?}");
        for path in left {
            let name = path.file_name().unwrap().to_str().unwrap();
            let number = name["lib".len()..][..2].parse().unwrap();
            assert!(fs::read(&path).unwrap() == kernel(number), "{what}: {name}");
        }
    }
}

/// A pipe that holds one page, and a reader who takes a few bytes at a time.
#[test]
fn a_reader_who_takes_little_gets_all_of_it() {
    let archive = demo("none");
    let archive = archive.to_str().unwrap();
    let tiny = model("tiny-llama.gguf");
    let one = ["--binary", "lib/libdemo.so#0", "--arch", "gfx906", "-o", "-"];
    for line in [
        [&["kpack", "extract", archive][..], &one].concat(),
        vec!["gguf", "show", "--all", "--json", tiny.to_str().unwrap()],
        vec!["kpack", "list", "--json", archive],
    ] {
        let whole = command().args(&line).output().unwrap().stdout;
        assert!(whole.len() > 500, "{line:?}");
        let (mut read, write) = std::io::pipe().unwrap();
        rustix::pipe::fcntl_setpipe_size(&write, 4096).unwrap();
        let mut child = command().args(&line).stdout(write).spawn().unwrap();
        let (mut found, mut piece) = (Vec::new(), [0; 61]);
        loop {
            match read.read(&mut piece).unwrap() {
                0 => break,
                n => found.extend_from_slice(&piece[..n]),
            }
            if found.len().is_multiple_of(7) {
                thread::sleep(Duration::from_micros(200));
            }
        }
        assert!(child.wait().unwrap().success());
        assert!(found == whole, "{line:?}");
    }
}
