//! The life of a server, from its start to its end.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rocload::core::Millis;
use rocload::core::serve::exit::SpawnFault;
use rocload::http::Endpoint;
use rocload::process::Watch;
use rocload::serve::{Cause, Class, Error, Event, Exit, Listen, Restart};

use crate::driver::{Driver, chat, words};
use crate::fake::{CEILING, Fake, ended, exists, runs, until};

pub(crate) fn ready_answers_and_leaves_nothing<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let server = driver.start(fake.setup()).unwrap();
    let ready = driver.ready(&server).unwrap();
    let Endpoint::Unix(socket) = &ready.endpoint else { panic!("{ready:?}") };
    let pid = ready.pid.unwrap();
    assert_eq!((D::pid(&server), D::endpoint(&server)), (Some(pid), Some(ready.endpoint.clone())));
    assert!(socket.exists() && runs(pid) && fake.records() == 1);
    let (words, end) = words(driver, &mut chat(driver, &server, 8).unwrap());
    end.unwrap();
    assert_eq!(words.concat(), "t0 t1 t2 t3 t4 t5 t6 t7 ");
    until("it says where it listens", || D::logs(&server).text().contains("listening on unix://"));
    assert_eq!(driver.stop(&server, None).unwrap(), Some(Class::StoppedClean));
    assert_eq!(D::pid(&server), None);
    assert!(!socket.exists() && !exists(pid) && fake.records() == 0);
    assert!(matches!(chat(driver, &server, 1), Err(Error::Stopped)));
}

pub(crate) fn a_slow_load_ends_ready<D: Driver>(driver: &D) {
    let fake = Fake::new(&["load-ms=1500"]);
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = events.clone();
    let setup = fake.with(|setup| {
        setup.on_event = Some(Box::new(move |event| heard.lock().unwrap().push(*event)));
    });
    let server = driver.start(setup).unwrap();
    // A request waits for it.
    assert_eq!(driver.text(chat(driver, &server, 8).unwrap()).unwrap(), "t0 t1 t2 t3 t4 t5 t6 t7 ");
    driver.stop(&server, None).unwrap();
    let events = events.lock().unwrap();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| match event {
            Event::Spawned { attempt: 1, .. } => "spawned",
            Event::Loading => "loading",
            Event::Ready { .. } => "ready",
            Event::Stopping(Cause::Asked) => "stopping",
            Event::Exited { exit: Exit::Code(0), class: Class::StoppedClean, .. } => "exited",
            Event::Stopped { class: Some(Class::StoppedClean) } => "stopped",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["spawned", "loading", "ready", "stopping", "exited", "stopped"]);
}

pub(crate) fn status_zero_before_ready_is_a_failure<D: Driver>(driver: &D) {
    let fake = Fake::new(&["exit=0"]);
    let server = driver.start(fake.setup()).unwrap();
    let ended = ended(driver.ready(&server).unwrap_err());
    assert_eq!(ended.class(), Some(Class::ExitedUnasked));
    assert_eq!((ended.failure.exit, ended.failure.was_ready), (Some(Exit::Code(0)), false));
}

pub(crate) fn each_end_has_its_class<D: Driver>(driver: &D) {
    let cases: &[(&[&str], Class)] = &[
        (&["exit=3"], Class::Failed),
        (&["exit=127"], Class::NotRunnable),
        (&["signal=4"], Class::WrongCpuBuild),
        (&["signal=9"], Class::Killed),
        (&["signal=11"], Class::Crash),
        (&["signal=7"], Class::Crash),
        (&["signal=15"], Class::Terminated),
        (&["exit=132"], Class::WrongCpuBuild),
        (&["signal=6", "say=/x/ggml.c:1: GGML_ASSERT(x) failed"], Class::Assertion),
        (&["signal=6", "say=ROCm error: unspecified launch failure"], Class::GpuFault),
        (&["signal=6", "say=ROCm error: invalid device function"], Class::WrongGpuBuild),
        (&["exit=1", "say=0.00.001.000 E x: failed to load model, 'm'"], Class::ModelBroken),
        (&["exit=1", "say=gguf_init_from_file: failed to open GGUF file 'm'"], Class::ModelMissing),
        (
            &["exit=1", "say=0.00.001.000 E alloc: cudaMalloc failed: out of memory"],
            Class::OutOfMemory,
        ),
    ];
    for (faults, class) in cases {
        let fake = Fake::new(faults);
        let server = driver.start(fake.setup()).unwrap();
        let error = driver.ready(&server).unwrap_err();
        let ended = ended(error);
        assert_eq!(ended.class(), Some(*class), "{faults:?}");
        assert_eq!(ended.advice(), class.advice());
        if let Some(said) = faults.iter().find_map(|fault| fault.strip_prefix("say=")) {
            assert_eq!(ended.lines, [said]);
            assert!(ended.to_string().contains(said), "{ended}");
        }
        assert_eq!(fake.records(), 0);
    }
}

pub(crate) fn a_refused_flag_is_told<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let setup = fake.with(|setup| setup.args.push("--bogus-flag".into()));
    let server = driver.start(setup).unwrap();
    let error = driver.ready(&server).unwrap_err();
    assert_eq!(error.class(), Some(Class::BadFlag));
    assert!(error.to_string().contains("--bogus-flag"), "{error}");
}

pub(crate) fn a_server_that_ignores_the_signal_is_killed<D: Driver>(driver: &D) {
    let fake = Fake::new(&["ignore-term"]);
    let server = driver.start(fake.setup()).unwrap();
    let pid = driver.ready(&server).unwrap().pid.unwrap();
    let class = driver.stop(&server, Some(Duration::from_millis(100))).unwrap();
    assert_eq!(class, Some(Class::KilledByUs));
    assert!(!exists(pid) && fake.records() == 0);

    // At once, without a grace.
    let server = driver.start(fake.setup()).unwrap();
    driver.ready(&server).unwrap();
    assert_eq!(driver.kill(&server).unwrap(), Some(Class::KilledByUs));
}

pub(crate) fn a_stop_while_loading_is_clean<D: Driver>(driver: &D) {
    let fake = Fake::new(&["load-ms=600000"]);
    let server = driver.start(fake.setup()).unwrap();
    let pid = D::pid(&server).unwrap();
    assert_eq!(driver.stop(&server, None).unwrap(), Some(Class::StoppedClean));
    assert!(!exists(pid));
    assert!(matches!(driver.ready(&server), Err(Error::Stopped)));
}

pub(crate) fn a_silent_socket_hides_no_end<D: Driver>(driver: &D) {
    let fake = Fake::new(&["silent", "load-ms=500", "signal=11"]);
    // Were the end seen only after the answer to a probe, this would hang.
    let setup = fake.with(|setup| setup.policy.probe = Millis(3_600_000));
    let server = driver.start(setup).unwrap();
    assert_eq!(driver.ready(&server).unwrap_err().class(), Some(Class::Crash));

    let fake = Fake::new(&["silent"]);
    let setup = fake.with(|setup| setup.policy.probe = Millis(3_600_000));
    let server = driver.start(setup).unwrap();
    assert_eq!(driver.stop(&server, None).unwrap(), Some(Class::StoppedClean));
}

pub(crate) fn odd_bodies_while_loading_do_no_harm<D: Driver>(driver: &D) {
    for body in ["html", "empty", "huge", "rubbish", "none"] {
        let fake = Fake::new(&[&format!("body={body}"), "load-ms=200"]);
        let server = driver.start(fake.setup()).unwrap();
        driver.ready(&server).unwrap_or_else(|error| panic!("{body}: {error}"));
        driver.stop(&server, None).unwrap();
    }
}

pub(crate) fn a_line_in_two_pieces_is_one<D: Driver>(driver: &D) {
    let fake = Fake::new(&["half", "exit=1"]);
    let server = driver.start(fake.setup()).unwrap();
    let ended = ended(driver.ready(&server).unwrap_err());
    assert_eq!(ended.lines, ["0.00.000.001 E half of a line"]);
}

pub(crate) fn a_flood_of_output_is_drained_and_bounded<D: Driver>(driver: &D) {
    let fake = Fake::new(&["flood=20000000", "say=the last words", "exit=1"]);
    let server = driver.start(fake.setup()).unwrap();
    let ended = ended(driver.ready(&server).unwrap_err());
    let log = D::logs(&server);
    assert_eq!(log.lines, 200_001);
    assert!(log.head.len() <= 16 << 10 && log.tail.len() <= 256 << 10);
    assert!(log.skipped + (log.head.len() + log.tail.len()) as u64 > 20_000_000);
    assert!(log.text().contains("\nthe last words\n"), "{ended}");
}

pub(crate) fn a_child_that_outlives_it_hides_no_end<D: Driver>(driver: &D) {
    let fake = Fake::new(&["child", "at=ready", "signal=11"]);
    let server = driver.start(fake.setup()).unwrap();
    driver.ready(&server).unwrap();
    assert_eq!(driver.wait(&server).unwrap_err().class(), Some(Class::Crash));
    let child = child(&D::logs(&server).text());
    until("the child ends with its group", || !runs(child));

    let fake = Fake::new(&["child"]);
    let server = driver.start(fake.setup()).unwrap();
    driver.ready(&server).unwrap();
    assert_eq!(driver.stop(&server, None).unwrap(), Some(Class::StoppedClean));
    let child = self::child(&D::logs(&server).text());
    until("the child ends with its group", || !runs(child));
}

pub(crate) fn a_child_in_another_group_hides_no_end<D: Driver>(driver: &D) {
    let fake = Fake::new(&["child=away", "at=ready", "exit=1"]);
    let server = driver.start(fake.setup()).unwrap();
    driver.ready(&server).unwrap();
    assert_eq!(driver.wait(&server).unwrap_err().class(), Some(Class::Failed));
    // It is not ours to end; the test has to.
    let child = child(&D::logs(&server).text());
    assert!(runs(child));
    kill(child);
}

fn child(log: &str) -> u32 {
    let line = log.lines().find_map(|line| line.strip_prefix("child "));
    line.expect("it tells its child").parse().unwrap()
}

pub(crate) fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

pub(crate) fn what_cannot_be_started_is_told<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    fs::write(&text, "\0no program").unwrap();
    let unfit = folder.path().join("unfit");
    fs::write(&unfit, "\0no program").unwrap();
    fs::set_permissions(&unfit, fs::Permissions::from_mode(0o755)).unwrap();
    let lost = folder.path().join("lost");
    fs::write(&lost, "#!/nonexistent/python\n").unwrap();
    fs::set_permissions(&lost, fs::Permissions::from_mode(0o755)).unwrap();
    let cases = [
        (folder.path().join("absent"), SpawnFault::NotFound),
        (lost, SpawnFault::NoInterpreter),
        (text, SpawnFault::Denied),
        (unfit, SpawnFault::NotExecutable),
    ];
    for (program, fault) in cases {
        let setup = fake.with(|setup| setup.program = Some(program.clone()));
        let error = driver.start(setup).map(|_| ()).unwrap_err();
        let ended = ended(error);
        assert_eq!(ended.failure.cause, Cause::Spawn(fault), "{program:?}");
        assert!(ended.to_string().contains(&program.display().to_string()), "{ended}");
        assert_eq!((ended.failure.exit, fake.records()), (None, 0));
    }
}

pub(crate) fn a_program_that_is_being_written_is_tried_again<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("server");
    fs::copy(env!("CARGO_BIN_EXE_fake-llama-server"), &program).unwrap();
    let open = fs::OpenOptions::new().write(true).open(&program).unwrap();
    let setup = || fake.with(|setup| setup.program = Some(program.clone()));
    let error = driver.start(setup()).map(|_| ()).unwrap_err();
    let failure = ended(error).failure;
    assert_eq!((failure.cause, failure.attempts), (Cause::Spawn(SpawnFault::Busy), 4));
    drop(open);
    let server = driver.start(setup()).unwrap();
    driver.ready(&server).unwrap();
    driver.stop(&server, None).unwrap();
}

pub(crate) fn silence_while_loading_runs_out<D: Driver>(driver: &D) {
    let fake = Fake::new(&["load-ms=600000", "no-listen"]);
    let setup = fake.with(|setup| setup.policy.stall = Some(Millis(300)));
    let server = driver.start(setup).unwrap();
    let ended = ended(driver.ready(&server).unwrap_err());
    assert_eq!(ended.failure.cause, Cause::Stalled(Millis(300)));
    // What ended it is not its cause.
    assert_eq!(ended.failure.exit, Some(Exit::Signal(15)));
}

pub(crate) fn output_while_loading_is_progress<D: Driver>(driver: &D) {
    let fake = Fake::new(&["load-ms=4000", "chatter-ms=100"]);
    let setup = fake.with(|setup| setup.policy.stall = Some(Millis(2000)));
    let server = driver.start(setup).unwrap();
    driver.ready(&server).unwrap();
    driver.stop(&server, None).unwrap();
}

pub(crate) fn a_hard_limit_of_loading_holds<D: Driver>(driver: &D) {
    let fake = Fake::new(&["load-ms=600000", "chatter-ms=20", "ignore-term"]);
    let setup = fake.with(|setup| {
        setup.policy.load = Some(Millis(300));
        setup.policy.grace_loading = Millis(100);
    });
    let server = driver.start(setup).unwrap();
    let failure = ended(driver.ready(&server).unwrap_err()).failure;
    assert_eq!(failure.cause, Cause::LoadTimeout(Millis(300)));
    assert_eq!(failure.exit, Some(Exit::Signal(9)));
}

pub(crate) fn a_kill_for_memory_is_told_in_both_forms<D: Driver>(driver: &D) {
    let forms = [
        ("memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 3\noom_group_kill 0\n"),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"),
    ];
    for (name, text) in forms {
        let cgroup = tempfile::tempdir().unwrap();
        let file = cgroup.path().join(name);
        fs::write(&file, text).unwrap();
        let raised = format!("oom={}", file.display());
        for (faults, class) in [
            (&["at=ready", "signal=9", raised.as_str()][..], Class::OomKilled),
            (&["at=ready", "signal=9"], Class::Killed),
            (&["signal=9", raised.as_str()], Class::OomKilled),
        ] {
            let fake = Fake::new(faults);
            let setup = fake.with(|setup| setup.cgroup = Some(cgroup.path().to_path_buf()));
            let server = driver.start(setup).unwrap();
            let error = driver.wait(&server).unwrap_err();
            assert_eq!(error.class(), Some(class), "{name} {faults:?}");
        }
    }
}

pub(crate) fn a_server_is_started_again_where_that_is_wished<D: Driver>(driver: &D) {
    let fake = Fake::new(&["at=token:3", "signal=11"]);
    let setup = fake.with(|setup| {
        setup.policy.restart = Restart::OnFailure;
        setup.policy.backoff.first = Millis(10);
    });
    let server = driver.start(setup).unwrap();
    let first = driver.ready(&server).unwrap();
    for _ in 0..2 {
        let (words, end) = words(driver, &mut chat(driver, &server, 8).unwrap());
        assert_eq!(words.concat(), "t0 t1 t2 ");
        assert_eq!(end.unwrap_err().class(), Some(Class::Crash));
    }
    until("it runs again", || D::pid(&server).is_some());
    let third = driver.ready(&server).unwrap();
    assert_eq!((first.attempt, third.attempt), (1, 3));
    assert_ne!(first.endpoint, third.endpoint);
    assert_eq!(driver.stop(&server, None).unwrap(), Some(Class::StoppedClean));
    assert_eq!(fake.records(), 0);
}

pub(crate) fn a_drop_stops_it<D: Driver>(driver: &D) {
    for faults in [&[][..], &["load-ms=600000"], &["ignore-term"]] {
        let fake = Fake::new(faults);
        let setup = fake.with(|setup| {
            setup.policy.grace_ready = Millis(200);
            setup.policy.grace_loading = Millis(200);
        });
        let server = driver.start(setup).unwrap();
        let pid = D::pid(&server).unwrap();
        if faults != ["load-ms=600000"] {
            driver.ready(&server).unwrap();
        }
        driver.drop_server(server);
        until("it is gone", || !exists(pid) && fake.records() == 0);
    }
}

pub(crate) fn stopping_again_is_harmless<D: Driver>(driver: &D) {
    let fake = Fake::new(&["term-ms=300"]);
    let server = driver.start(fake.setup()).unwrap();
    driver.ready(&server).unwrap();
    thread::scope(|scope| {
        let stops = [(); 3].map(|()| {
            // Each waits on its own.
            let server = &server;
            scope.spawn(move || D::default().stop(server, None).unwrap())
        });
        for stop in stops {
            assert_eq!(stop.join().unwrap(), Some(Class::StoppedClean));
        }
    });
    assert_eq!(driver.stop(&server, None).unwrap(), Some(Class::StoppedClean));

    let fake = Fake::new(&["exit=1"]);
    let server = driver.start(fake.setup()).unwrap();
    driver.ready(&server).unwrap_err();
    assert_eq!(driver.stop(&server, None).unwrap_err().class(), Some(Class::Failed));
}

pub(crate) fn looking_does_as_well_as_a_pidfd<D: Driver>(driver: &D) {
    for (faults, class) in [
        (&["signal=11"][..], Class::Crash),
        (&["silent", "load-ms=300", "signal=9"], Class::Killed),
    ] {
        let fake = Fake::new(faults);
        let setup = fake.with(|setup| setup.watch = Watch::Look);
        let server = driver.start(setup).unwrap();
        assert_eq!(driver.ready(&server).unwrap_err().class(), Some(class));
    }
    let fake = Fake::new(&[]);
    let server = driver.start(fake.with(|setup| setup.watch = Watch::Look)).unwrap();
    let pid = driver.ready(&server).unwrap().pid.unwrap();
    assert_eq!(driver.stop(&server, None).unwrap(), Some(Class::StoppedClean));
    assert!(!exists(pid));
}

pub(crate) fn a_port_works_and_one_that_is_taken_is_told<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let server = driver.start(fake.with(|setup| setup.listen = Listen::Tcp(0))).unwrap();
    let ready = driver.ready(&server).unwrap();
    let Endpoint::Tcp(address) = ready.endpoint else { panic!("{ready:?}") };
    assert!(address.ip().is_loopback());
    assert_eq!(driver.text(chat(driver, &server, 8).unwrap()).unwrap().len(), 24);

    // It has the port: another server of ours does not take the first one for itself.
    let other =
        driver.start(fake.with(|setup| setup.listen = Listen::Tcp(address.port()))).unwrap();
    let ended = ended(driver.ready(&other).unwrap_err());
    assert_eq!((ended.class(), ended.failure.attempts), (Some(Class::BindConflict), 1));
    driver.ready(&server).unwrap();
    assert_eq!(driver.stop(&server, None).unwrap(), Some(Class::StoppedClean));
}

pub(crate) fn a_bind_conflict_is_tried_three_times<D: Driver>(driver: &D) {
    let said = "say=0.00.000.001 E srv  start: couldn't bind HTTP server socket, hostname: x";
    let fake = Fake::new(&[said, "exit=1"]);
    for listen in [Listen::Unix, Listen::Tcp(0)] {
        let server = driver.start(fake.with(|setup| setup.listen = listen)).unwrap();
        let ended = ended(driver.ready(&server).unwrap_err());
        assert_eq!((ended.class(), ended.failure.attempts), (Some(Class::BindConflict), 3));
    }
    // No other end before ready is.
    let fake = Fake::new(&["exit=1"]);
    let server = driver.start(fake.setup()).unwrap();
    assert_eq!(ended(driver.ready(&server).unwrap_err()).failure.attempts, 1);
}

pub(crate) fn another_server_at_the_port_is_not_ours<D: Driver>(driver: &D) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(0));
    let count = asked.clone();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            *count.lock().unwrap() += 1;
            let _ = socket.read(&mut [0; 1024]);
            let _ = socket.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"status\":\"ok\"}",
            );
        }
    });
    let fake = Fake::new(&["no-listen"]);
    let setup = fake.with(|setup| {
        setup.listen = Listen::Tcp(port);
        setup.policy.load = Some(Millis(1000));
    });
    let server = driver.start(setup).unwrap();
    let failure = ended(driver.ready(&server).unwrap_err()).failure;
    assert_eq!(failure.cause, Cause::LoadTimeout(Millis(1000)));
    assert!(*asked.lock().unwrap() > 1, "it was asked, and not believed");
}

pub(crate) fn a_stale_socket_does_no_harm<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let folder = tempfile::tempdir().unwrap();
    let setup = || fake.with(|setup| setup.listen = Listen::UnixIn(folder.path().to_path_buf()));
    let server = driver.start(setup()).unwrap();
    let Endpoint::Unix(stale) = driver.ready(&server).unwrap().endpoint else { panic!() };
    driver.kill(&server).unwrap();
    assert!(!stale.exists());
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    let server = driver.start(setup()).unwrap();
    driver.ready(&server).unwrap();
    driver.stop(&server, None).unwrap();
    let left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [stale]);
}

pub(crate) fn inherited_settings_do_not_reach_it<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let given = [
        ("LLAMA_ARG_CTX_SIZE", "512"),
        ("AIP_MODE", "PREDICTION"),
        ("LLAMA_SERVER_ROUTER_PORT", "1"),
        ("HIP_VISIBLE_DEVICES", "1"),
        ("CUDA_VISIBLE_DEVICES", "1"),
        ("GPU_DEVICE_ORDINAL", "1"),
        ("ROCR_VISIBLE_DEVICES", "7"),
        ("HSA_OVERRIDE_GFX_VERSION", "11.0.0"),
        ("PATH", "/usr/bin:/bin"),
    ];
    let setup = fake.with(|setup| {
        let given = given.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        setup.environment = Some(given.collect());
    });
    let server = driver.start(setup).unwrap();
    let mut found: Vec<String> =
        driver.fetch(&server, "/environment").unwrap().lines().map(str::to_owned).collect();
    found.sort();
    assert_eq!(
        found,
        ["HSA_OVERRIDE_GFX_VERSION=11.0.0", "PATH=/usr/bin:/bin", "ROCR_VISIBLE_DEVICES=-1"]
    );
    driver.stop(&server, None).unwrap();
}

pub(crate) fn settings_that_do_not_fit_are_refused<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let setup = fake.with(|setup| setup.args.push("--port".into()));
    let error = driver.start(setup).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Plan(_)), "{error}");
    assert!(error.to_string().contains("--port"), "{error}");
}

pub(crate) fn a_list_of_settings_reaches_it<D: Driver>(driver: &D) {
    let fake = Fake::new(&[]);
    let setup = fake.with(|setup| {
        setup.tuning.context = Some(512);
        setup.tuning.parallel = Some(2);
    });
    let server = driver.start(setup).unwrap();
    let pid = driver.ready(&server).unwrap().pid.unwrap();
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    let line = String::from_utf8(line).unwrap().replace('\0', " ");
    assert!(
        line.contains(" --model model.gguf ") && line.contains(" --ctx-size 512 --parallel 2 "),
        "{line}"
    );
    assert!(driver.stop(&server, Some(CEILING)).is_ok());
}
