//! `run`, `serve` and `server` with real llama-servers, where `ROCLOAD_LLAMA_SERVER` (the true
//! binary) and `ROCLOAD_LLAMA_LAUNCHER` (the one inside of a Python package) name them, and with
//! scripts in their place.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Ran, interruptible, model};

/// How long anything may take before the test fails.
const CEILING: Duration = Duration::from_secs(120);

/// A place of its own for sockets and records, so that no test sweeps what another has left.
struct Place {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Place {
    fn of(program: impl Into<PathBuf>) -> Place {
        let folder = tempfile::tempdir().unwrap();
        fs::DirBuilder::new().mode(0o700).create(folder.path().join("run")).unwrap();
        Place { folder, program: program.into() }
    }

    /// A script in the place of a server.
    fn script(text: &str) -> Place {
        let mut place = Place::of("");
        place.program = place.folder.path().join("server");
        fs::write(&place.program, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&place.program, fs::Permissions::from_mode(0o755)).unwrap();
        place
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = interruptible();
        command
            .args(args)
            .env("XDG_RUNTIME_DIR", self.folder.path().join("run"))
            .env("ROCLOAD_LLAMA_SERVER", &self.program)
            .env_remove("ROCM_LLAMA_SERVER_PATH");
        command
    }

    fn rocload(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// `run` on the tiny model, on the CPU.
    fn answer(&self, args: &[&str]) -> Ran {
        let model = model("tiny-llama.gguf");
        self.rocload(&[&["run", model.to_str().unwrap(), "--cpu"], args].concat())
    }

    fn start(&self, args: &[&str]) -> Running {
        let mut command = self.command(args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut running = Running { child, lines: None };
        running.lines = running.child.stdout.take().map(BufReader::new);
        running
    }

    /// The sockets that are there.
    fn sockets(&self) -> Vec<PathBuf> {
        let folder = self.folder.path().join("run/rocload");
        let entries = fs::read_dir(folder).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "sock")).collect()
    }
}

/// A command that runs; killed when the test ends early.
struct Running {
    child: Child,
    lines: Option<BufReader<std::process::ChildStdout>>,
}

impl Running {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.as_mut().unwrap().read_line(&mut line).unwrap();
        line
    }

    /// Lines of JSON until one of this type.
    fn until(&mut self, kind: &str) -> Value {
        loop {
            let line = self.line();
            assert!(!line.is_empty(), "the output ends before {kind}");
            let value: Value = serde_json::from_str(&line).unwrap();
            if value["type"] == kind {
                return value;
            }
        }
    }

    fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    fn end(mut self) -> Ran {
        let begun = Instant::now();
        // Both pipes are read to their ends, so that it is never kept from writing.
        let mut errors = self.child.stderr.take().unwrap();
        let reader = thread::spawn(move || {
            let mut text = Vec::new();
            errors.read_to_end(&mut text).unwrap();
            text
        });
        let mut stdout = Vec::new();
        self.lines.take().unwrap().read_to_end(&mut stdout).unwrap();
        let stderr = reader.join().unwrap();
        let status = self.child.wait().unwrap();
        assert!(begun.elapsed() < CEILING);
        Output { status, stdout, stderr }.into()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}

fn is_alive(pid: u64) -> bool {
    // One that is left to the first process of the machine may wait for that to note its end.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn named(variable: &str, test: &str) -> Option<Place> {
    let Some(program) = env::var_os(variable).filter(|program| !program.is_empty()) else {
        eprintln!("{test}: skipped: {variable} names no llama-server");
        return None;
    };
    Some(Place::of(program))
}

/// The true binary (a case tagged `real`).
fn real(test: &str) -> Option<Place> {
    named("ROCLOAD_LLAMA_SERVER", test)
}

/// Each of the servers (a case tagged `any`).
fn any(test: &str) -> impl Iterator<Item = Place> {
    let variables = ["ROCLOAD_LLAMA_SERVER", "ROCLOAD_LLAMA_LAUNCHER"];
    variables.into_iter().filter_map(move |variable| named(variable, test))
}

/// An answer that does not end by itself soon.
const LONG: [&str; 5] = ["-n", "1000000", "--json", "--", "--ignore-eos"];

#[test]
fn an_answer_from_an_argument_a_file_and_a_pipe_is_the_same() {
    for place in any("an_answer_from_an_argument_a_file_and_a_pipe_is_the_same") {
        let options = ["-n", "12", "--temp", "0", "--seed", "1"];
        let answer = place.answer(&[&options[..], &["hello there"]].concat()).fine().out;
        assert!(!answer.is_empty());
        let file = place.folder.path().join("prompt");
        fs::write(&file, "hello there").unwrap();
        let by_file = place.answer(&[&options[..], &["--file", file.to_str().unwrap()]].concat());
        assert_eq!(by_file.fine().out, answer);
        let tiny = model("tiny-llama.gguf");
        let args = [&["run", tiny.to_str().unwrap(), "--cpu"][..], &options].concat();
        let mut child =
            place.command(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"hello there").unwrap();
        let by_pipe = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(by_pipe.stdout).unwrap(), answer);
        // It ends before a text that it would have said.
        let (at, word) = answer.char_indices().nth(3).map(|(at, c)| (at, c.to_string())).unwrap();
        let stopped =
            place.answer(&[&options[..], &["hello there", "--stop", &word]].concat()).fine().out;
        assert!(stopped.len() <= at && answer.starts_with(&stopped), "{stopped:?} of {answer:?}");
        assert_eq!(place.sockets(), Vec::<PathBuf>::new());
    }
}

#[test]
fn the_parts_of_an_answer_are_lines_of_json() {
    for place in any("the_parts_of_an_answer_are_lines_of_json") {
        let ran = place.answer(&["hello", "-n", "4", "--json", "--stats"]);
        assert_eq!(ran.code, Some(0));
        assert!(ran.err.contains(" 4 out, ") && ran.err.contains("tokens/s"), "{}", ran.err);
        let lines = ran.json_lines();
        let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
        assert_eq!((kinds[0], *kinds.last().unwrap()), ("ready", "end"));
        assert!(kinds.contains(&"text") && kinds.contains(&"usage"), "{kinds:?}");
        let of = |kind: &str| lines.iter().find(|line| line["type"] == kind).unwrap();
        assert_eq!(
            (&of("end")["outcome"], &of("ready")["origin"]),
            (&"complete".into(), &"variable".into())
        );
        assert!(!is_alive(of("ready")["pid"].as_u64().unwrap()));
        let tokens = |lines: &[Value]| {
            let usage = lines.iter().find(|line| line["type"] == "usage").unwrap();
            usage["prompt"].as_u64().unwrap()
        };
        let with_system = place.answer(&["hello", "-n", "4", "--json", "--system", "Be brief."]);
        assert!(tokens(&with_system.fine().json_lines()) > tokens(&lines));
        let raw = place.answer(&["hello", "-n", "4", "--json", "--raw"]).fine().json_lines();
        assert!(raw.iter().any(|line| line["type"] == "token"), "{raw:?}");
    }
}

#[test]
fn a_server_that_is_killed_in_the_middle_is_told_of() {
    for place in any("a_server_that_is_killed_in_the_middle_is_told_of") {
        let tiny = model("tiny-llama.gguf");
        let long = if place.program.ends_with("llama-server") { &LONG[..] } else { &LONG[..3] };
        let mut run = place.start(&[&["run", tiny.to_str().unwrap(), "hello"], long].concat());
        let pid = run.until("ready")["pid"].as_u64().unwrap();
        run.until("text");
        signal(u32::try_from(pid).unwrap(), "-KILL");
        let ran = run.end();
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
        assert_eq!(last["error"]["kind"], "killed", "{ran:?}");
        let message = last["error"]["message"].as_str().unwrap();
        assert!(
            message
                .starts_with("the server is gone: another program killed it (signal 9, SIGKILL)")
        );
        assert_eq!(place.sockets(), Vec::<PathBuf>::new());
    }
}

#[test]
fn an_interruption_ends_the_answer_and_leaves_nothing() {
    let Some(place) = real("an_interruption_ends_the_answer_and_leaves_nothing") else { return };
    let tiny = model("tiny-llama.gguf");
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let mut run = place.start(&[&["run", tiny.to_str().unwrap(), "hello"], &LONG[..]].concat());
        let pid = run.until("ready")["pid"].as_u64().unwrap();
        run.until("text");
        run.signal(name);
        let ran = run.end();
        assert_eq!(ran.code, Some(code), "{ran:?}");
        if code == 130 {
            let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
            assert_eq!(last["error"]["kind"], "interrupted");
        }
        assert!(!is_alive(pid));
    }
}

#[test]
fn a_second_interruption_ends_the_program() {
    // A server that is never ready and does not obey.
    let place = Place::script("trap '' TERM\nwhile :; do sleep 0.1; done");
    let tiny = model("tiny-llama.gguf");
    let mut run = place.start(&["serve", tiny.to_str().unwrap(), "--json"]);
    let pid = run.until("spawned")["pid"].as_u64().unwrap();
    run.signal("-INT");
    run.until("stopping");
    run.signal("-INT");
    let exited = run.until("exited");
    assert_eq!((&exited["class"], &exited["exit"]["signal"]), (&"killed_by_us".into(), &9.into()));
    assert_eq!(run.end().code, Some(0));
    assert!(!is_alive(pid));
}

#[test]
fn what_a_killed_command_leaves_is_swept_by_the_next() {
    let Some(place) = real("what_a_killed_command_leaves_is_swept_by_the_next") else { return };
    let tiny = model("tiny-llama.gguf");
    let mut run = place.start(&[&["run", tiny.to_str().unwrap(), "hello"], &LONG[..]].concat());
    let pid = run.until("ready")["pid"].as_u64().unwrap();
    run.until("text");
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    assert!(is_alive(pid) && place.sockets().len() == 1);
    let ran = place.answer(&["hello", "-n", "2"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.err.contains(&format!("ended the server {pid} that a killed program had left")),
        "{ran:?}"
    );
    assert!(!is_alive(pid));
    assert_eq!(place.sockets(), Vec::<PathBuf>::new());
}

#[test]
fn a_server_serves_until_a_signal() {
    for place in any("a_server_serves_until_a_signal") {
        let tiny = model("tiny-llama.gguf");
        for name in ["-INT", "-TERM"] {
            let mut serve = place.start(&["serve", tiny.to_str().unwrap(), "--cpu", "--json"]);
            let ready = serve.until("ready");
            let socket = PathBuf::from(ready["endpoint"]["unix"].as_str().unwrap());
            assert!(place.sockets().contains(&socket) && ready["api_key"].is_null());
            let mut stream = UnixStream::connect(&socket).unwrap();
            stream
                .write_all(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                .unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""ok""#), "{answer}");
            serve.signal(name);
            assert_eq!(serve.until("stopped")["class"], "stopped_clean");
            serve.end().fine();
            assert!(!is_alive(ready["pid"].as_u64().unwrap()) && place.sockets().is_empty());
        }
    }
}

#[test]
fn a_port_asks_for_the_key() {
    for place in any("a_port_asks_for_the_key") {
        let tiny = model("tiny-llama.gguf");
        let args = ["serve", tiny.to_str().unwrap(), "--cpu", "--json", "--listen", "127.0.0.1:0"];
        let mut serve = place.start(&args);
        let ready = serve.until("ready");
        let address = ready["endpoint"]["tcp"].as_str().unwrap().to_owned();
        let key = ready["api_key"].as_str().unwrap().to_owned();
        assert_eq!(
            (ready["base_url"].as_str().unwrap(), key.len()),
            (&*format!("http://{address}/v1"), 32)
        );
        let status = |headers: &str| {
            let mut stream = std::net::TcpStream::connect(&address).unwrap();
            let head =
                format!("GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            (answer[9..12].to_owned(), answer.to_ascii_lowercase())
        };
        assert_eq!(status("").0, "401");
        let with_key = format!("Authorization: Bearer {key}\r\n");
        assert_eq!(status(&with_key).0, "200");
        let (code, answer) = status(&format!("{with_key}Origin: https://elsewhere.example\r\n"));
        assert!(code == "403" && !answer.contains("access-control-allow-origin"), "{answer}");
        let (code, answer) = status(&format!("{with_key}Origin: http://localhost:3000\r\n"));
        assert!(
            code == "200" && answer.contains("access-control-allow-origin: http://localhost:3000"),
            "{answer}"
        );
        // One that closes its half once it has asked, as `nc -N` does, is answered to the end.
        let body = r#"{"messages":[{"role":"user","content":"a"}],"max_tokens":20,"stream":true}"#;
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n{with_key}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("data: [DONE]") && answer.ends_with("0\r\n\r\n"), "{answer}");
        serve.signal("-TERM");
        assert_eq!(serve.end().code, Some(0));
        // A port that another program has.
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port().to_string();
        let ran =
            place.rocload(&["serve", tiny.to_str().unwrap(), "--cpu", "--json", "--listen", &port]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert_eq!(ran.json_lines().last().unwrap()["error"]["kind"], "bind_conflict", "{ran:?}");
    }
}

#[test]
fn models_that_cannot_be_loaded_and_flags_that_are_not_known() {
    for place in any("models_that_cannot_be_loaded_and_flags_that_are_not_known") {
        let bytes = fs::read(model("tiny-llama.gguf")).unwrap();
        let cut = place.folder.path().join("cut.gguf");
        fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
        let kind = |ran: &Ran| {
            ran.json_lines().last().unwrap()["error"]["kind"].as_str().unwrap().to_owned()
        };
        let ran = place.rocload(&["run", "/nonexistent/m.gguf", "hello", "--json"]);
        assert_eq!((ran.code, &*kind(&ran)), (Some(4), "model_missing"), "{ran:?}");
        let ran = place.rocload(&["run", cut.to_str().unwrap(), "hello", "--json"]);
        assert_eq!((ran.code, &*kind(&ran)), (Some(3), "model_broken"), "{ran:?}");
        let ran = place.answer(&["hello", "--json", "--", "--bogus-flag"]);
        assert_eq!((ran.code, &*kind(&ran)), (Some(2), "bad_flag"), "{ran:?}");
        assert_eq!(place.sockets(), Vec::<PathBuf>::new());
    }
}

#[test]
fn our_flags_are_refused_by_name() {
    let place = Place::script("exit 0");
    for flag in ["--host", "--port", "-m", "--api-key", "--ssl_key_file", "--log-file=x"] {
        let ran = place.answer(&["hello", "--", flag, "x"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains(" cannot be passed on: "), "{ran:?}");
    }
    place
        .answer(&["hello", "-c", "512", "--", "-c", "1024"])
        .failed(2, "--ctx-size is given by a setting");
    // Of the GPU that a server would have had nothing is said.
    let (model, none) = (model("tiny-llama.gguf"), place.folder.path().to_str().unwrap());
    let ran = place.rocload(&[
        "run",
        model.to_str().unwrap(),
        "hello",
        "--sysroot",
        none,
        "--",
        "--host",
        "x",
    ]);
    assert_eq!((ran.code, ran.err.contains("GPU")), (Some(2), false), "{ran:?}");
}

#[test]
fn a_server_that_was_installed_and_is_not_the_first_is_told() {
    let place = Place::script("exit 0");
    let bin = place.folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let installed = place.folder.path().join("llama-launcher");
    fs::copy(&place.program, &installed).unwrap();
    // In the place of Python: what it would install is there already.
    let python = bin.join("python3");
    fs::write(&python, format!("#!/bin/sh\necho '{}'\n", installed.display())).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let install = |first: &std::path::Path| -> Ran {
        let mut command = place.command(&["server", "install"]);
        command.env("PATH", &bin).env("ROCLOAD_CACHE", place.folder.path());
        command.env("ROCLOAD_LLAMA_SERVER", first).output().unwrap().into()
    };
    let ran = install(&place.program);
    assert!(ran.code == Some(0) && ran.out.contains("llama-launcher"), "{ran:?}");
    assert!(ran.err.contains("another one comes first"), "{ran:?}");
    assert!(ran.err.contains("ROCLOAD_LLAMA_SERVER names it; --server names this one"), "{ran:?}");
    let ran = install("/nonexistent/server".as_ref());
    assert!(
        ran.code == Some(0) && ran.err.contains("not found; correct the variable, or unset it"),
        "{ran:?}"
    );
    install(&installed).fine();
}

#[test]
fn ends_of_all_kinds_are_named() {
    for (script, code, kind) in [
        ("exit 0", 1, "exited_unasked"),
        ("exit 7", 1, "failed"),
        ("kill -ILL $$", 1, "wrong_cpu_build"),
        ("kill -SEGV $$", 1, "crash"),
        ("echo 'ROCm error: invalid device function' >&2; kill -ABRT $$", 1, "wrong_gpu_build"),
        ("echo 'ROCm error: unspecified launch failure' >&2; kill -ABRT $$", 1, "gpu_fault"),
        ("echo 'x.c:1: GGML_ASSERT(a) failed' >&2; kill -ABRT $$", 1, "assertion"),
        ("kill -KILL $$", 1, "killed"),
        ("kill -TERM $$", 1, "terminated"),
    ] {
        let place = Place::script(script);
        let ran = place.answer(&["hello", "--json"]);
        let error = &ran.json_lines().pop().unwrap()["error"];
        assert_eq!((ran.code, &error["kind"]), (Some(code), &kind.into()), "{ran:?}");
        assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()));
    }
    let place = Place::script("sleep 100");
    let ran = place.answer(&["hello", "--json", "--load-timeout", "1"]);
    assert_eq!(ran.json_lines().pop().unwrap()["error"]["kind"], "load_timeout");
}

#[test]
fn a_variable_that_is_wrong_is_an_error_although_path_has_one() {
    let place = Place::script("exit 0");
    let tiny = model("tiny-llama.gguf");
    let folder = place.folder.path().join("bin");
    fs::create_dir(&folder).unwrap();
    fs::copy(&place.program, folder.join("llama-server")).unwrap();
    let ran: Ran = place
        .command(&["run", tiny.to_str().unwrap(), "hello"])
        .env_remove("ROCLOAD_LLAMA_SERVER")
        .env("ROCM_LLAMA_SERVER_PATH", "/nonexistent/server")
        .env("PATH", &folder)
        .output()
        .unwrap()
        .into();
    ran.failed(4, "ROCM_LLAMA_SERVER_PATH is /nonexistent/server: not found");
    let info = |command: &mut Command| -> Ran { command.output().unwrap().into() };
    let mut by_path = place.command(&["server", "info", "--json"]);
    by_path.env_remove("ROCLOAD_LLAMA_SERVER").env("PATH", &folder);
    let told = info(&mut by_path).fine().json();
    assert_eq!(told["server"]["origin"], "path");
    assert_eq!(told["server"]["program"], folder.join("llama-server").to_str().unwrap());
    let mut nowhere = place.command(&["server", "info"]);
    nowhere
        .env_remove("ROCLOAD_LLAMA_SERVER")
        .env("PATH", "/nonexistent")
        .env("ROCLOAD_CACHE", "/nonexistent");
    info(&mut nowhere).failed(4, "no llama-server is found");
}

#[test]
fn info_tells_version_and_devices() {
    for place in any("info_tells_version_and_devices") {
        let told = place.rocload(&["server", "info", "--json"]).fine().json();
        let server = &told["server"];
        assert_eq!(
            (&server["origin"], &server["variable"]),
            (&"variable".into(), &"ROCLOAD_LLAMA_SERVER".into())
        );
        assert!(server["version"].as_str().is_some_and(|version| !version.is_empty()), "{told}");
        assert!(server["devices"].is_array(), "{told}");
        let text = place.rocload(&["server", "info"]).fine().out;
        assert!(text.contains("ROCLOAD_LLAMA_SERVER names it"), "{text}");
    }
}

#[test]
fn a_prompt_must_be_there() {
    let place = Place::script("exit 0");
    let tiny = model("tiny-llama.gguf");
    // Standard input is empty here.
    place.rocload(&["run", tiny.to_str().unwrap()]).failed(2, "the prompt is empty");
    place.answer(&["--file", "/nonexistent"]).failed(4, "/nonexistent: opening the prompt");
    let file = place.folder.path().join("latin");
    fs::write(&file, b"caf\xe9").unwrap();
    place.answer(&["--file", file.to_str().unwrap()]).failed(3, "the prompt is not UTF-8");
    place.answer(&["hello", "--stop", ""]).misused("every answer would end before it begins");
}

#[test]
fn an_interruption_while_the_prompt_is_read_ends_it_at_once() {
    let place = Place::script("exit 0");
    let tiny = model("tiny-llama.gguf");
    let mut command = place.command(&["run", tiny.to_str().unwrap(), "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let silent = child.stdin.take().unwrap();
    // It waits for its prompt once it sleeps in a read of the pipe with its handlers set.
    let handles = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & 2 != 0
    };
    let begun = Instant::now();
    while !handles() && begun.elapsed() < CEILING {
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(200));
    let lines = child.stdout.take().map(BufReader::new);
    let run = Running { child, lines };
    run.signal("-INT");
    run.end().failed(130, "interrupted");
    drop(silent);
}

#[test]
fn an_interruption_of_info_leaves_no_program() {
    let place =
        Place::script("trap '' TERM INT\necho $$ > \"$0.pid\"\nwhile :; do sleep 0.1; done");
    let run = place.start(&["server", "info"]);
    let file = place.program.with_extension("pid");
    let begun = Instant::now();
    let pid: u64 = loop {
        match fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok()) {
            Some(pid) => break pid,
            None => assert!(begun.elapsed() < CEILING),
        }
        thread::sleep(Duration::from_millis(10));
    };
    run.signal("-INT");
    run.end().failed(130, "interrupted");
    assert!(!is_alive(pid));
}

#[test]
fn what_is_no_model_and_no_program_is_refused() {
    let place = Place::script("exit 0");
    let pipe = place.folder.path().join("pipe.gguf");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pipe = pipe.to_str().unwrap();
    place.rocload(&["run", pipe, "hello", "--cpu"]).failed(3, "pipe.gguf: the model is no regular");
    place.rocload(&["serve", pipe, "--cpu"]).failed(3, "pipe.gguf: the model is no regular file");
    // No server is started for these.
    let (absent, archive) = (place.folder.path().join("absent"), place.folder.path().join("a"));
    fs::write(&archive, b"KPAK\x01\0\0\0").unwrap();
    let (absent, archive) = (absent.to_str().unwrap(), archive.to_str().unwrap());
    for (command, prompt) in [("run", Some("hello")), ("serve", None)] {
        let with = |model, json: &[&str]| {
            let args = [command, model].into_iter().chain(prompt);
            place.rocload(&args.chain(json.iter().copied()).collect::<Vec<_>>())
        };
        with(absent, &[]).failed(4, "absent: opening the model: no such file or directory");
        let ran = with(absent, &["--json"]);
        assert_eq!(ran.json_lines()[0]["error"]["kind"], "model_missing", "{ran:?}");
        with(archive, &[]).failed(3, "a: this is no gguf file but a ROCm kernel archive");
    }
    place.answer(&["hello", "-n", "0"]).misused("0 is not in 1..");
    place.answer(&["hello", "-n", "-1"]).misused("-1 is not in 1..");
    place.answer(&["hello", "-c", "-1"]).misused("invalid value '-1'");
    fs::write(&place.program, "#!/nonexistent/python\n").unwrap();
    place.answer(&["hello"]).failed(4, "the interpreter or loader of the program is not there");
    place.rocload(&["server", "info"]).failed(1, "its interpreter or loader is not there");
}

#[test]
fn a_file_beside_the_model_and_an_abort_are_told_by_name() {
    let Some(place) = real("a_file_beside_the_model_and_an_abort_are_told_by_name") else { return };
    place.answer(&["hi", "--", ""]).failed(2, "it does not accept one of its flags");
    let ran = place.answer(&["hi", "--json", "--", "--mmproj", "/nonexistent/xx"]);
    let error = &ran.json_lines().pop().unwrap()["error"];
    assert_eq!((ran.code, &error["path"]), (Some(4), &"/nonexistent/xx".into()), "{ran:?}");
    let ran = place.answer(&["hi", "--", "-c", "1"]);
    assert!(ran.code == Some(1) && !ran.err.contains("[Inferior"), "{ran:?}");
    // The line is shortened in its middle, where the path of its source is long.
    assert!(ran.err.contains("failed to add token"), "{ran:?}");
}

#[test]
fn doctor_looks_for_the_server() {
    let told = |place: &Place| {
        let ran = place.rocload(&["doctor", "--json"]);
        let checks = ran.json()["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["check"] == "server").unwrap()
    };
    let version = "echo 'version: 1.2.3 (build 77, commit abc)'; echo 'Available devices:'; echo '  ROCm0: a GPU'";
    let check = told(&Place::script(version));
    let text = check["text"].as_str().unwrap();
    assert_eq!(check["state"], "ok", "{check}");
    assert!(text.contains("1.2.3 (build 77, commit abc), for ROCm0: a GPU"), "{text}");
    assert!(text.ends_with("ROCLOAD_LLAMA_SERVER names it"), "{text}");
    let silent = told(&Place::script("exit 1"));
    assert_eq!((&silent["state"], silent["hint"].is_string()), (&"note".into(), true), "{silent}");
    let broken = Place::of("");
    fs::write(broken.folder.path().join("server"), "#!/nonexistent/sh\n").unwrap();
    let broken = Place { program: broken.folder.path().join("server"), ..broken };
    fs::set_permissions(&broken.program, fs::Permissions::from_mode(0o755)).unwrap();
    let check = told(&broken);
    assert!(check["state"] == "fail" && check["hint"].is_string(), "{check}");
    let absent = Place::of("/nonexistent/llama-server");
    assert_eq!(absent.rocload(&["doctor"]).code, Some(1));
    let check = told(&absent);
    assert_eq!(check["text"], "ROCLOAD_LLAMA_SERVER is /nonexistent/llama-server: not found");
    assert_eq!(check["state"], "fail");
    // None at all.
    let nowhere = Place::of("");
    let mut command = nowhere.command(&["doctor", "--json"]);
    command.env("PATH", "").env("ROCLOAD_CACHE", nowhere.folder.path());
    let ran: Ran = command.output().unwrap().into();
    let checks = ran.json();
    let check =
        checks["checks"].as_array().unwrap().iter().find(|check| check["check"] == "server");
    let hint = check.unwrap()["hint"].as_str().unwrap();
    assert!(ran.code == Some(1) && hint.contains("rocload server install"), "{hint}");
    for place in any("doctor_looks_for_the_server") {
        assert_eq!(told(&place)["state"], "ok");
    }
}
