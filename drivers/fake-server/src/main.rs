//! A server with llama-server's face and whatever faults a test asks for.
//!
//! It takes the flags that the drivers pass, and any number of `--fake KEY[=VALUE]`:
//!
//! | key | what it does |
//! |---|---|
//! | `load-ms=N` | loads for so long: `/health` answers 503 |
//! | `at=load`, `at=ready`, `at=token:N` | when `exit` and `signal` happen: once loaded instead of being ready (as is usual), once ready, after so many tokens |
//! | `exit=N`, `signal=N` | ends with this status, or by this signal |
//! | `oom=FILE` | raises the count `oom_kill` in that file before that |
//! | `ignore-term` | SIGTERM does nothing |
//! | `term-ms=N` | SIGTERM ends it so much later |
//! | `silent` | accepts connections and never answers |
//! | `no-listen` | never listens |
//! | `body=KIND` | the body of its 503: `html`, `empty`, `huge`, `rubbish`, `none` |
//! | `say=TEXT` | a line on stderr |
//! | `half` | one line in two pieces |
//! | `chatter-ms=N` | a line every so often while it loads |
//! | `flood=N` | so many bytes of output, first of all |
//! | `child`, `child=away` | a process that outlives it and holds its pipes and sockets; `away`: in a group of its own |
//! | `tokens=N`, `token-ms=N` | how many tokens an answer has, and the pause before each |

mod http;
mod options;

use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::options::{At, Options};

fn main() -> io::Result<()> {
    let options = Arc::new(Options::read(std::env::args().skip(1)));
    // Before SIGTERM is handled it ends the process, as with the real one.
    let ignored = options.ignore_term.then(|| Signals::new([SIGTERM]));
    if let Some(kind) = &options.child {
        start_child(kind)?;
    }
    flood(options.flood)?;
    for line in &options.say {
        eprintln!("{line}");
    }
    if options.half {
        eprint!("0.00.000.001 E half of ");
        io::stderr().flush()?;
        thread::sleep(Duration::from_millis(50));
        eprintln!("a line");
    }
    let ready = Arc::new(AtomicBool::new(false));
    if !options.no_listen {
        listen(&options, &ready);
    }
    load(&options);
    if options.at == At::Load {
        options.end();
    }
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    eprintln!("0.00.000.002 I srv  llama_server: model loaded");
    eprintln!("0.00.000.003 I srv  llama_server: listening on {}", options.address());
    ready.store(true, Ordering::Release);
    if options.at == At::Ready {
        // What is ready may be seen to be so.
        thread::sleep(Duration::from_millis(300));
        options.end();
    }
    for _ in signals.forever() {
        if ignored.is_none() {
            thread::sleep(options.term);
            break;
        }
    }
    Ok(())
}

/// A process that holds what this one has open.
fn start_child(kind: &str) -> io::Result<()> {
    let mut child = Command::new("sleep");
    child.arg("1000").stdin(Stdio::null());
    if kind == "away" {
        child.process_group(0);
    }
    let child = child.spawn()?;
    eprintln!("child {}", child.id());
    Ok(())
}

fn flood(bytes: usize) -> io::Result<()> {
    let line = [&[b'x'; 99][..], b"\n"].concat();
    let mut out = io::stdout().lock();
    for _ in 0..bytes / line.len() {
        out.write_all(&line)?;
    }
    out.flush()
}

/// Listens as the real one does: a name or port that is taken is the end.
fn listen(options: &Arc<Options>, ready: &Arc<AtomicBool>) {
    let (options, ready) = (options.clone(), ready.clone());
    let taken = |address: &str| -> ! {
        eprintln!(
            "0.00.000.001 E srv  start: couldn't bind HTTP server socket, hostname: {address}"
        );
        exit(1)
    };
    if options.host.ends_with(".sock") {
        let Ok(listener) = UnixListener::bind(&options.host) else { taken(&options.host) };
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                http::serve(socket, &options, &ready);
            }
        });
    } else {
        let address = (options.host.as_str(), options.port);
        let Ok(listener) = TcpListener::bind(address) else { taken(&options.host) };
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                http::serve(socket, &options, &ready);
            }
        });
    }
}

fn load(options: &Options) {
    let Some(pause) = options.chatter else { return thread::sleep(options.load) };
    let mut left = options.load;
    while !left.is_zero() {
        eprintln!("0.00.000.001 I load_tensors: more");
        let pause = pause.min(left);
        thread::sleep(pause);
        left -= pause;
    }
}
