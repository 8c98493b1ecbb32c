//! Servers that are started, asked and ended while signals interrupt whatever waits for them.
#![cfg(target_os = "linux")]

#[path = "../../tests/storm/signals.rs"]
mod signals;

use rocload::llama::request::{Chat, Message, Tokenize};
use rocload::serve::{Class, Listen, Setup};
use rocload::{blocking, serve, tokio};
use signals::storm;

fn setup(folder: &std::path::Path) -> Setup {
    let mut setup = Setup::new("model.gguf".into());
    setup.program = Some(env!("CARGO_BIN_EXE_fake-llama-server").into());
    setup.records = Some(folder.to_path_buf());
    setup.listen = Listen::UnixIn(folder.to_path_buf());
    for fault in ["load-ms=200", "tokens=60", "token-ms=2", "term-ms=200"] {
        setup.args.extend(["--fake".into(), fault.into()]);
    }
    setup
}

#[test]
fn servers_serve_in_a_storm() {
    let folder = tempfile::tempdir().unwrap();
    let whole: String = (0..60).map(|token| format!("t{token} ")).collect();
    let messages = [Message::user("hello")];
    let chat = Chat::new(&messages);
    let runtime = ::tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    storm(|| {
        for _ in 0..3 {
            let setup = setup(folder.path());
            let server = serve::Builder::<blocking::Driver>::from_setup(setup).start().unwrap();
            server.ready().unwrap();
            assert_eq!(server.chat(&chat).unwrap().text().unwrap(), whole);
            assert_eq!(server.tokenize(&Tokenize::new("a")).unwrap(), [1, 2, 3]);
            // It takes its time to end, and is not killed for it.
            assert_eq!(server.stop(None).unwrap(), Some(Class::StoppedClean));
        }
        runtime.block_on(async {
            for _ in 0..3 {
                let builder = serve::Builder::<tokio::Driver>::from_setup(setup(folder.path()));
                let server = builder.start().await.unwrap();
                server.ready().await.unwrap();
                assert_eq!(server.chat(&chat).await.unwrap().text().await.unwrap(), whole);
                assert_eq!(server.tokenize(&Tokenize::new("a")).await.unwrap(), [1, 2, 3]);
                assert_eq!(server.stop(None).await.unwrap(), Some(Class::StoppedClean));
            }
        });
    });
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
