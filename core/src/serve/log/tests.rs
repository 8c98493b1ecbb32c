//! Lines and what they tell.

use super::*;

#[test]
fn levels_are_told_from_text() {
    assert_eq!(
        split(b"0.03.292.325 I sched_reserve: ok\r\n"),
        (Some(Level::Info), &b"sched_reserve: ok"[..])
    );
    assert_eq!(split(b"0.00.004.820 E srv  x"), (Some(Level::Error), &b"srv  x"[..]));
    for plain in [&b"main: server"[..], b"12 I x", b"1.2 Ix", b"1.2 X x", b"1.2", b"", b"I x"] {
        assert_eq!(split(plain), (None, plain));
    }
}

#[test]
fn facts_with_and_without_a_level() {
    for (line, wanted) in [
        ("load_tensors: offloaded 25/33 layers to GPU", LogFact::Offloaded { layers: 25, of: 33 }),
        ("llama_context: n_ctx                 = 4096", LogFact::Context(4096)),
        ("llama_context: n_ctx_seq             = 4096", LogFact::Other),
        ("srv  llama_server: model loaded", LogFact::ModelLoaded),
        (
            "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
            LogFact::Listening(b"http://127.0.0.1:8080"),
        ),
        (
            "srv  llama_server: listening on unix:///run/x.sock",
            LogFact::Listening(b"unix:///run/x.sock"),
        ),
        ("common_fit_params: fitting params to free memory took 2.61 seconds", LogFact::Fitted),
        ("x: listening on ", LogFact::Other),
        ("x: offloaded 25/ layers", LogFact::Other),
        ("x: CPU KV buffer size = 12.0 MiB", LogFact::Other),
        ("x: CPU KV buffer size = 12.00 KiB", LogFact::Other),
        ("x: CPU odd buffer size = 12.00 MiB", LogFact::Other),
        ("x: KV buffer size = 999999999999999999999.00 MiB", LogFact::Other),
    ] {
        assert_eq!(fact(line.as_bytes()), wanted, "{line}");
        let leveled = alloc::format!("0.05.126.558 I {line}\n");
        assert_eq!(fact(leveled.as_bytes()), wanted, "{leveled}");
    }
}

#[test]
fn devices_with_braces_in_their_names() {
    let line = b"llama_prepare_model_devices: using device ROCm0 (AMD Radeon RX 7800 XT (navi)) (0000:03:00.0) - 16256 MiB free";
    let LogFact::Device(device) = fact(line) else { panic!() };
    assert_eq!(
        (device.name, device.description),
        (&b"ROCm0"[..], &b"AMD Radeon RX 7800 XT (navi)"[..])
    );
    assert_eq!((device.address, device.free_mib), (Some(&b"0000:03:00.0"[..]), 16256));
    let LogFact::Device(device) = fact(b"x: using device CUDA1 (Card) - 1 MiB free") else {
        panic!()
    };
    assert_eq!((device.name, device.address), (&b"CUDA1"[..], None));
}

#[test]
fn only_what_may_be_an_error_is_one() {
    let text = b"srv start: couldn't bind HTTP server socket, hostname: x".as_slice();
    for (level, mark) in [("E", true), ("W", true), ("I", false), ("D", false)] {
        let line = alloc::format!("0.00.1 {level} {}", core::str::from_utf8(text).unwrap());
        let found = matches!(fact(line.as_bytes()), LogFact::Error { mark: Some(Mark::Bind), .. });
        assert_eq!(found, mark, "{level}");
    }
    assert_eq!(fact(text), LogFact::Error { mark: Some(Mark::Bind), text });
    assert_eq!(fact(b"0.00.1 E srv: oh"), LogFact::Error { mark: None, text: b"srv: oh" });
    assert_eq!(fact(b"0.00.1 W srv: oh"), LogFact::Other);
    assert_eq!(fact(b"error: oh"), LogFact::Error { mark: None, text: b"error: oh" });
}

#[test]
fn the_sums_of_a_trial_do_not_count() {
    let mut facts = Facts::new();
    for line in [
        &b"a: CPU KV buffer size = 12.00 MiB"[..],
        b"common_fit_params: fitting params to free memory took 2.61 seconds",
        b"a: CPU KV buffer size = 12.00 MiB",
        b"a: CPU KV buffer size = 15.50 MiB",
        b"a: ROCm0 KV buffer size = 1.00 MiB",
        b"b: CPU KV buffer size = 0.25 MiB",
    ] {
        facts.see(&fact(line));
    }
    let sums: alloc::vec::Vec<_> = facts.buffers().map(|sum| sum.centi_mib).collect();
    assert_eq!(sums, [2750, 100, 25]);
    assert_eq!(facts.total(BufferKind::Kv), 2875 * (1 << 20) / 100);
    assert_eq!(facts.total(BufferKind::Model), 0);
}

#[test]
fn there_is_room_for_so_many() {
    let mut facts = Facts::new();
    for at in 0..40 {
        facts.see(&fact(alloc::format!("a: GPU{at} KV buffer size = 1.00 MiB").as_bytes()));
        facts.see(&fact(alloc::format!("a: using device GPU{at} (x) - 1 MiB free").as_bytes()));
    }
    assert_eq!((facts.buffers().count(), facts.devices().count()), (MAX_BUFFERS, MAX_DEVICES));
    assert_eq!(facts.left_out as usize, 80 - MAX_BUFFERS - MAX_DEVICES);
}

#[test]
fn a_long_line_is_looked_at_in_part() {
    let mut line = alloc::vec![b'x'; LOOKED_AT];
    line.extend_from_slice(b"GGML_ASSERT");
    assert_eq!(fact(&line), LogFact::Other);
    let LogFact::Error { mark, .. } = fact(&line[100..]) else { panic!() };
    assert_eq!(mark, Some(Mark::Assertion));
}

#[test]
fn aborts_are_errors_and_backtraces_are_not() {
    for line in [
        "/src/common/common.cpp:2216: get_sub_batch: failed to add token 5 to the sub-batch",
        "ggml/src/ggml.c:1: fatal error",
        "a b/ggml-cuda.cu:12: x",
        "t.h:1: x",
        "t.hip:1: x",
    ] {
        let text = line.as_bytes();
        assert_eq!(fact(text), LogFact::Error { mark: None, text }, "{line}");
        assert!(!is_backtrace(text), "{line}");
        let leveled = alloc::format!("0.00.1 I {line}");
        assert_eq!(fact(leveled.as_bytes()), LogFact::Other, "{line}");
    }
    for line in [".c:1: x", "a.txt:1: x", "a.c: x", "a.c:x: y", "a.c:1:x", "a.c:1"] {
        assert_eq!(fact(line.as_bytes()), LogFact::Other, "{line}");
    }
    for line in [
        "[New LWP 14775]",
        "[Thread debugging using libthread_db enabled]",
        "Using host libthread_db library \"/lib/x86_64-linux-gnu/libthread_db.so.1\".",
        "0x00007fd1bd0f1c17 in __GI___wait4 (pid=1) at ../sysdeps/unix/sysv/linux/wait4.c:30",
        "30\t../sysdeps/unix/sysv/linux/wait4.c: No such file or directory.",
        "30\tin ../sysdeps/unix/sysv/linux/wait4.c",
        "#0  0x00007fd1bd0f1c17 in __GI___wait4 (pid=14777) at ../sysdeps/wait4.c:30",
        "#10 0x0000555dd3d3e9f1 in ?? ()\n",
        "[Inferior 1 (process 14763) detached]",
    ] {
        assert!(is_backtrace(line.as_bytes()), "{line}");
        assert_eq!(fact(line.as_bytes()), LogFact::Other, "{line}");
    }
    for line in ["", "#", "#1", "# 0x", "30 in x", "0x1", "[News]", "free(): invalid pointer"] {
        assert!(!is_backtrace(line.as_bytes()), "{line}");
    }
}
