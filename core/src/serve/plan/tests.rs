//! Arguments in, arguments refused.

use alloc::string::String;
use alloc::vec::Vec;

use super::*;

const SOCKET: Endpoint<'static> = Endpoint::Unix(b"/run/x.sock");

fn line(settings: &Settings<'_>) -> String {
    let args = Plan::new(settings, None).unwrap().to_vec();
    args.iter().map(|arg| String::from_utf8(arg.clone()).unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_not_set_is_not_passed() {
    assert_eq!(line(&Settings::new(b"m", SOCKET)), "--model m --host /run/x.sock");
    let tcp = Endpoint::Tcp { host: "127.0.0.1", port: 65535 };
    assert_eq!(line(&Settings::new(b"-m", tcp)), "--model -m --host 127.0.0.1 --port 65535");
}

#[test]
fn all_that_can_be_set() {
    let settings = Settings {
        alias: Some("me"),
        tuning: Tuning {
            cpu: true,
            layers: Some(Layers::All),
            context: Some(0),
            parallel: Some(2),
            unified: Some(false),
            batch: Some(64),
            ubatch: Some(32),
            threads: Some(3),
            keys: Some(GgmlType(8)),
            values: Some(GgmlType(1)),
            flash: Some(true),
            fit_target: Some(u32::MAX),
            embeddings: true,
            metrics: true,
            verbosity: Some(4),
        },
        extra: &[b"--jinja", b"--seed", b"-1"],
        ..Settings::new(b"m", SOCKET)
    };
    assert_eq!(
        line(&settings),
        "--model m --host /run/x.sock --alias me --device none --n-gpu-layers all --ctx-size 0 --parallel 2 \
         --batch-size 64 --ubatch-size 32 --threads 3 --fit-target 4294967295 --verbosity 4 --cache-type-k q8_0 \
         --cache-type-v f16 --flash-attn on --no-kv-unified --embeddings --metrics --jinja --seed -1"
    );
}

#[test]
fn our_flags_are_refused_in_any_spelling() {
    let settings = Settings::new(b"m", SOCKET);
    for (arg, name) in [
        ("-m", "--model"),
        ("--model", "--model"),
        ("--host", "--host"),
        ("--host=0.0.0.0", "--host"),
        ("--port", "--port"),
        ("-hf", "--hf-repo"),
        ("--hf_repo", "--hf-repo"),
        ("--api_key", "--api-key"),
        ("--log-file", "--log-file"),
        ("--models-dir", "--models-dir"),
        ("-h", "--help"),
    ] {
        let extra = [b"--jinja".as_slice(), arg.as_bytes()];
        let fault = Plan::new(&Settings { extra: &extra, ..settings }, None).unwrap_err();
        let Fault::Owned { flag, index, .. } = fault else { panic!("{arg}: {fault}") };
        assert_eq!((flag, index), (name, 1), "{arg}");
    }
    for arg in ["--hostile", "--modelling", "model", "-ctx"] {
        assert!(
            Plan::new(&Settings { extra: &[arg.as_bytes()], ..settings }, None).is_ok(),
            "{arg}"
        );
    }
}

#[test]
fn a_flag_and_its_setting_are_too_many() {
    let extra: &[&[u8]] = &[b"-c", b"512"];
    let settings = Settings { extra, ..Settings::new(b"m", SOCKET) };
    assert!(Plan::new(&settings, None).is_ok());
    let settings =
        Settings { tuning: Tuning { context: Some(512), ..Tuning::default() }, ..settings };
    let fault = Plan::new(&settings, None).unwrap_err();
    assert_eq!(fault, Fault::Twice { flag: "--ctx-size", index: 0 });
    // Each setting has its flag, and each is refused beside it.
    let all = Settings {
        alias: Some("a"),
        tuning: Tuning {
            cpu: true,
            layers: Some(Layers::Count(1)),
            context: Some(1),
            parallel: Some(1),
            unified: Some(true),
            batch: Some(1),
            ubatch: Some(1),
            threads: Some(1),
            keys: Some(GgmlType(1)),
            values: Some(GgmlType(1)),
            flash: Some(true),
            fit_target: Some(1),
            embeddings: true,
            metrics: true,
            verbosity: Some(1),
        },
        ..Settings::new(b"m", SOCKET)
    };
    for arg in Plan::new(&all, None).unwrap().to_vec().iter().filter(|arg| arg.starts_with(b"--")) {
        let refused = Plan::new(&Settings { extra: &[arg], ..all }, None).unwrap_err();
        assert!(matches!(refused, Fault::Twice { .. } | Fault::Owned { .. }), "{refused}");
    }
}

#[test]
fn endpoints_that_cannot_be() {
    let long = [b"/".as_slice(), &[b'a'; 102], b".sock"].concat();
    let fault = |endpoint| Plan::new(&Settings::new(b"m", endpoint), None).err();
    assert_eq!(fault(Endpoint::Unix(&long)), Some(Fault::Socket));
    assert_eq!(fault(Endpoint::Unix(&long[1..])), None);
    assert_eq!(fault(Endpoint::Unix(b"/x")), Some(Fault::Socket));
    assert_eq!(fault(Endpoint::Unix(b"/a,0.0.0.0/x.sock")), Some(Fault::Socket));
    assert_eq!(fault(Endpoint::Tcp { host: "127.0.0.1", port: 0 }), Some(Fault::Port));
    assert_eq!(fault(Endpoint::Tcp { host: "a,b", port: 1 }), Some(Fault::Text("the host")));
    let none = Settings::new(b"", SOCKET);
    assert_eq!(Plan::new(&none, None).err(), Some(Fault::Text("the model's path")));
    let nul = Settings { extra: &[b"a\0b"], ..Settings::new(b"m", SOCKET) };
    assert!(matches!(Plan::new(&nul, None).err(), Some(Fault::Text(_))));
}

#[test]
fn a_cache_has_few_types() {
    let settings = Settings {
        tuning: Tuning { keys: Some(GgmlType(12)), ..Tuning::default() },
        ..Settings::new(b"m", SOCKET)
    };
    assert_eq!(Plan::new(&settings, None).err(), Some(Fault::CacheType(GgmlType(12))));
}

#[test]
fn the_file_is_looked_at() {
    use crate::gguf::{EXAMPLE, Options, Reader};
    use crate::need::{Machine, Need, visit};
    let mut summary = Summary::new();
    let total = Some(EXAMPLE.len() as u64);
    let mut reader = Reader::new(total, Options::default(), [0u8; 64], Summary::interest());
    while let Need::At { offset, .. } = reader.need() {
        visit(&mut reader, offset, &EXAMPLE[offset as usize..], |item| summary.see(&item)).unwrap();
    }
    let tuning = Tuning { context: Some(8192), parallel: Some(2), ..Tuning::default() };
    let settings = Settings { tuning, ..Settings::new(b"m", SOCKET) };
    let plan = Plan::new(&settings, Some(&summary)).unwrap();
    let notes: Vec<Note> = plan.notes().collect();
    assert_eq!(
        notes,
        [
            Note::Shared { parallel: 2, each: 4096 },
            Note::BeyondTraining { context: 4096, trained: 2048 }
        ]
    );
}
