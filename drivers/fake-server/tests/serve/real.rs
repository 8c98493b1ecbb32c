//! Real servers: llama.cpp's own binary (`ROCLOAD_LLAMA_SERVER`) and the one of a Python package
//! behind a launcher (`ROCLOAD_LLAMA_LAUNCHER`). `any_` cases are for both, `real_` cases for the
//! first. Where a server is missing, they are skipped, and fail if `CI` is `true`.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rocload::http::{self, Endpoint};
use rocload::llama::request::{Completion, Prompt, Tokenize};
use rocload::llama::{Item, Props};
use rocload::serve::{Class, Error, Listen, Setup};
use rocload_fixtures::fixtures_dir;

use crate::driver::{Driver, chat, words};
use crate::ends::kill;
use crate::fake::{ended, exists, until};

struct Real {
    program: PathBuf,
    records: tempfile::TempDir,
}

impl Real {
    /// The server that this variable names.
    fn named(variable: &str) -> Option<Real> {
        match std::env::var_os(variable).filter(|path| !path.is_empty()) {
            Some(program) => {
                Some(Real { program: program.into(), records: tempfile::tempdir().unwrap() })
            }
            None => {
                assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{variable} is not set");
                // Not captured by the test runner.
                let _ = writeln!(std::io::stderr(), "skipped: {variable} is not set");
                None
            }
        }
    }

    fn binary() -> Option<Real> {
        Real::named("ROCLOAD_LLAMA_SERVER")
    }

    fn both() -> impl Iterator<Item = Real> {
        ["ROCLOAD_LLAMA_SERVER", "ROCLOAD_LLAMA_LAUNCHER"].into_iter().filter_map(Real::named)
    }

    fn setup(&self) -> Setup {
        let mut setup = Setup::new(model());
        setup.program = Some(self.program.clone());
        setup.records = Some(self.records.path().to_path_buf());
        setup.tuning.threads = Some(1);
        setup.tuning.parallel = Some(2);
        setup.tuning.context = Some(2048);
        setup
    }

    fn with(&self, change: impl FnOnce(&mut Setup)) -> Setup {
        let mut setup = self.setup();
        change(&mut setup);
        setup
    }

    /// Nothing is noted any more.
    fn is_clean(&self) -> bool {
        fs::read_dir(self.records.path()).unwrap().count() == 0
    }
}

fn model() -> PathBuf {
    fixtures_dir().join("gguf/tiny-llama.gguf")
}

/// More than any test waits for.
const LONG: i64 = 1_000_000;

pub(crate) fn any_ready_chat_completion_and_stop<D: Driver>(driver: &D) {
    for real in Real::both() {
        let server = driver.start(real.setup()).unwrap();
        let ready = driver.ready(&server).unwrap();
        let Endpoint::Unix(socket) = ready.endpoint else { panic!() };
        let (words, end) = words(driver, &mut chat(driver, &server, 16).unwrap());
        end.unwrap();
        assert!(!words.concat().is_empty());

        let mut completion = Completion::new(Prompt::Text("Hello"));
        completion.sampling.n_predict = Some(16);
        completion.sampling.temperature = Some(0.0);
        completion.sampling.ignore_eos = Some(true);
        let mut generation = driver.generate(&server, &completion).unwrap();
        let (mut ids, mut timed) = (Vec::new(), false);
        while let Some((id, time)) = driver
            .next(&mut generation, |item| match item {
                Item::Token { id, .. } => (Some(id), false),
                item => (None, matches!(item, Item::Timings(_))),
            })
            .unwrap()
        {
            ids.extend(id);
            timed |= time;
        }
        assert_eq!((ids.len(), timed), (16, true));
        // The vocabulary is bytes: a text is as many tokens as it has bytes.
        let tokens = driver.tokenize(&server, &Tokenize::new("Hello")).unwrap();
        assert_eq!(tokens.len(), 5);
        let log = D::logs(&server);
        assert!(log.lines > 0 && log.text().contains("listening on"), "{}", log.text());
        let pid = ready.pid.unwrap();
        assert_eq!(driver.stop(&server, None).unwrap(), Some(Class::StoppedClean));
        assert!(!socket.exists() && !exists(pid) && real.is_clean());
    }
}

pub(crate) fn any_concurrent_streams<D: Driver>(driver: &D) {
    for real in Real::both() {
        let server = driver.start(real.setup()).unwrap();
        let whole = driver.text(chat(driver, &server, 24).unwrap()).unwrap();
        // More than there are slots.
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let driver = D::default();
                    let text = driver.text(chat(&driver, &server, 24).unwrap()).unwrap();
                    assert_eq!(text.is_empty(), whole.is_empty());
                });
            }
        });
        driver.stop(&server, None).unwrap();
    }
}

pub(crate) fn any_cancel_and_reuse<D: Driver>(driver: &D) {
    for real in Real::both() {
        let server = driver.start(real.with(|setup| setup.tuning.parallel = Some(1))).unwrap();
        let mut generation = chat(driver, &server, LONG).unwrap();
        for _ in 0..3 {
            driver.next(&mut generation, |_| ()).unwrap().expect("it goes on");
        }
        let cancel = D::cancel_handle(&generation);
        cancel.cancel();
        let error = driver.next(&mut generation, |_| ()).unwrap_err();
        assert!(matches!(error, Error::Http(http::Error::Cancelled)), "{error}");
        // The only slot is free again.
        assert!(!driver.text(chat(driver, &server, 8).unwrap()).unwrap().is_empty());
        driver.stop(&server, None).unwrap();
    }
}

pub(crate) fn any_context_overflow<D: Driver>(driver: &D) {
    for real in Real::both() {
        let setup = real.with(|setup| {
            setup.tuning.context = Some(256);
            setup.tuning.parallel = Some(1);
        });
        let server = driver.start(setup).unwrap();
        let long = "a".repeat(5000);
        let error = driver.generate(&server, &Completion::new(Prompt::Text(&long))).map(|_| ());
        let Err(Error::Http(http::Error::Status(error))) = error else { panic!("{error:?}") };
        assert_eq!((error.status, error.kind.as_deref()), (400, Some("exceed_context_size_error")));
        assert!(error.n_prompt_tokens.unwrap() > error.n_ctx.unwrap());
        assert!(!driver.text(chat(driver, &server, 8).unwrap()).unwrap().is_empty());
        driver.stop(&server, None).unwrap();
    }
}

pub(crate) fn any_killed_in_mid_stream<D: Driver>(driver: &D) {
    for real in Real::both() {
        let server = driver.start(real.setup()).unwrap();
        let pid = driver.ready(&server).unwrap().pid.unwrap();
        let mut generation = chat(driver, &server, LONG).unwrap();
        for _ in 0..3 {
            driver.next(&mut generation, |_| ()).unwrap().expect("it goes on");
        }
        kill(pid);
        let (_, end) = words(driver, &mut generation);
        assert_eq!(end.unwrap_err().class(), Some(Class::Killed));
        assert!(!exists(pid));
        until("it is cleaned up", || real.is_clean());
    }
}

pub(crate) fn any_stop_while_loading<D: Driver>(driver: &D) {
    for real in Real::both() {
        let server = driver.start(real.setup()).unwrap();
        assert_eq!(driver.stop(&server, None).unwrap(), Some(Class::StoppedClean));
        assert!(real.is_clean());
    }
}

pub(crate) fn any_stop_while_streaming<D: Driver>(driver: &D) {
    for real in Real::both() {
        let server = driver.start(real.setup()).unwrap();
        let pid = driver.ready(&server).unwrap().pid.unwrap();
        let mut generation = chat(driver, &server, LONG).unwrap();
        driver.next(&mut generation, |_| ()).unwrap().expect("it goes on");
        // It hangs now and then when it is stopped at work: the grace bounds that.
        let class = driver.stop(&server, Some(Duration::from_secs(3))).unwrap().unwrap();
        assert!(matches!(class, Class::StoppedClean | Class::KilledByUs), "{class}");
        let (_, end) = words(driver, &mut generation);
        assert!(matches!(end, Err(Error::Stopped)), "{end:?}");
        assert!(!exists(pid) && real.is_clean());
    }
}

pub(crate) fn any_missing_model<D: Driver>(driver: &D) {
    for real in Real::both() {
        let absent = real.records.path().join("absent.gguf");
        let server = driver.start(real.with(|setup| setup.model = absent)).unwrap();
        let ended = ended(driver.ready(&server).unwrap_err());
        assert_eq!(ended.class(), Some(Class::ModelMissing), "{ended}");
        assert!(ended.to_string().contains("absent.gguf"), "{ended}");
    }
}

pub(crate) fn any_truncated_model<D: Driver>(driver: &D) {
    for real in Real::both() {
        let whole = fs::read(model()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let cut = folder.path().join("cut.gguf");
        fs::write(&cut, &whole[..whole.len() * 3 / 4]).unwrap();
        let server = driver.start(real.with(|setup| setup.model = cut)).unwrap();
        let ended = ended(driver.ready(&server).unwrap_err());
        assert_eq!(ended.class(), Some(Class::ModelBroken), "{ended}");
        assert_eq!(ended.failure.attempts, 1);
    }
}

pub(crate) fn any_port_conflict<D: Driver>(driver: &D) {
    for real in Real::both() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let server = driver.start(real.with(|setup| setup.listen = Listen::Tcp(port))).unwrap();
        let ended = ended(driver.ready(&server).unwrap_err());
        assert_eq!(ended.class(), Some(Class::BindConflict), "{ended}");
        drop(taken);
        let server = driver.start(real.with(|setup| setup.listen = Listen::Tcp(0))).unwrap();
        driver.ready(&server).unwrap();
        driver.stop(&server, None).unwrap();
    }
}

pub(crate) fn any_stale_socket<D: Driver>(driver: &D) {
    for real in Real::both() {
        let folder = tempfile::tempdir().unwrap();
        let listen = || Listen::UnixIn(folder.path().to_path_buf());
        let server = driver.start(real.with(|setup| setup.listen = listen())).unwrap();
        let Endpoint::Unix(stale) = driver.ready(&server).unwrap().endpoint else { panic!() };
        assert_eq!(driver.kill(&server).unwrap(), Some(Class::KilledByUs));
        drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
        let server = driver.start(real.with(|setup| setup.listen = listen())).unwrap();
        driver.ready(&server).unwrap();
        driver.stop(&server, None).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

pub(crate) fn any_inherited_settings<D: Driver>(driver: &D) {
    let context = |driver: &D, server: &D::Server| {
        let props = driver.fetch(server, "/props").unwrap();
        let props = Props::read(props.as_bytes(), &Default::default()).unwrap();
        props.n_ctx.unwrap()
    };
    for real in Real::both() {
        let mut found = Vec::new();
        for inherited in [false, true] {
            let setup = real.with(|setup| {
                setup.tuning.context = None;
                let mut given: Vec<_> = std::env::vars_os().collect();
                if inherited {
                    for (name, value) in [
                        ("LLAMA_ARG_CTX_SIZE", "512"),
                        ("LLAMA_ARG_PORT", "1"),
                        ("LLAMA_SERVER_ROUTER_PORT", "1"),
                        ("HIP_VISIBLE_DEVICES", "99"),
                        ("HIP_LAUNCH_BLOCKING", "1"),
                    ] {
                        given.push((name.into(), value.into()));
                    }
                }
                setup.environment = Some(given);
            });
            let server = driver.start(setup).unwrap();
            driver.ready(&server).unwrap();
            found.push(context(driver, &server));
            driver.stop(&server, None).unwrap();
        }
        assert_eq!(found[0], found[1]);
        assert_ne!(found[0], 512);
    }
}

/// Where a memory cgroup of its own can be made; else skipped, since that is the machine's affair.
pub(crate) fn any_killed_for_memory_in_a_cgroup<D: Driver>(driver: &D) {
    let Some(cgroup) = Cgroup::make(12 << 20) else {
        let _ = writeln!(std::io::stderr(), "skipped: no memory cgroup can be made");
        return;
    };
    for real in Real::both() {
        let folder = tempfile::tempdir().unwrap();
        let wrapper = folder.path().join("in-cgroup");
        let script = format!(
            "#!/bin/sh\necho $$ >'{}/cgroup.procs'\nexec '{}' \"$@\"\n",
            cgroup.0.display(),
            real.program.display()
        );
        fs::write(&wrapper, script).unwrap();
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
        let setup = real.with(|setup| {
            setup.program = Some(wrapper.clone());
            setup.cgroup = Some(cgroup.0.clone());
            // More than the group may have.
            setup.tuning.context = Some(65536);
        });
        let server = driver.start(setup).unwrap();
        let ended = ended(driver.ready(&server).unwrap_err());
        assert_eq!(ended.class(), Some(Class::OomKilled), "{ended}");
    }
}

/// A memory cgroup that is removed when it is dropped.
struct Cgroup(PathBuf);

impl Cgroup {
    fn make(bytes: u64) -> Option<Cgroup> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let name = format!("rocload-test-{}-{:?}", std::process::id(), thread::current().id());
        let name = name.replace(['(', ')'], "");
        let root = Path::new("/sys/fs/cgroup");
        let (parent, limits): (PathBuf, &[&str]) =
            match groups.lines().find_map(|line| line.split_once(":memory:")) {
                Some((_, own)) => {
                    let limits = &["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
                    (root.join("memory").join(own.trim_start_matches('/')), limits)
                }
                None => {
                    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
                    (root.join(own), &["memory.max", "memory.swap.max"])
                }
            };
        let group = Cgroup(parent.join(name));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join(limits[0]), bytes.to_string()).ok()?;
        // Swap is not counted everywhere.
        let swap = if limits[1] == "memory.swap.max" { 0 } else { bytes };
        let _ = fs::write(group.0.join(limits[1]), swap.to_string());
        Some(group)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

pub(crate) fn real_bad_flag<D: Driver>(driver: &D) {
    let Some(real) = Real::binary() else { return };
    let server = driver.start(real.with(|setup| setup.args.push("--no-such-flag".into()))).unwrap();
    let ended = ended(driver.ready(&server).unwrap_err());
    assert_eq!(ended.class(), Some(Class::BadFlag), "{ended}");
    assert!(ended.to_string().contains("--no-such-flag"), "{ended}");
}
