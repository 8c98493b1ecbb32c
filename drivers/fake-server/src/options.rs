//! What the server is asked to do.

use std::fs;
use std::path::PathBuf;
use std::process::exit;
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

/// When it ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Never,
    Load,
    Ready,
    Token(u64),
}

/// How it ends by itself.
#[derive(Debug, Clone, Copy)]
enum End {
    Exit(i32),
    Signal(i32),
}

pub(crate) struct Options {
    pub(crate) model: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) load: Duration,
    pub(crate) at: At,
    end: Option<End>,
    oom: Option<PathBuf>,
    pub(crate) ignore_term: bool,
    pub(crate) term: Duration,
    pub(crate) silent: bool,
    pub(crate) no_listen: bool,
    pub(crate) body: String,
    pub(crate) say: Vec<String>,
    pub(crate) half: bool,
    pub(crate) chatter: Option<Duration>,
    pub(crate) flood: usize,
    pub(crate) child: Option<String>,
    pub(crate) tokens: u64,
    pub(crate) pause: Duration,
}

impl Options {
    pub(crate) fn read(mut args: impl Iterator<Item = String>) -> Options {
        let mut options = Options {
            model: String::new(),
            host: "127.0.0.1".into(),
            port: 8080,
            load: Duration::ZERO,
            at: At::Never,
            end: None,
            oom: None,
            ignore_term: false,
            term: Duration::ZERO,
            silent: false,
            no_listen: false,
            body: String::new(),
            say: Vec::new(),
            half: false,
            chatter: None,
            flood: 0,
            child: None,
            tokens: 8,
            pause: Duration::ZERO,
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().unwrap_or_default();
            match arg.as_str() {
                "--model" => options.model = value(),
                "--host" => options.host = value(),
                "--port" => options.port = number(&value()),
                "--fake" => {
                    let value = value();
                    let (key, value) = value.split_once('=').unwrap_or((&value, ""));
                    options.set(key, value);
                }
                "--bogus-flag" => {
                    eprintln!("error: invalid argument: {arg}");
                    exit(1);
                }
                _ => {}
            }
        }
        if options.end.is_some() && options.at == At::Never {
            options.at = At::Load;
        }
        options
    }

    fn set(&mut self, key: &str, value: &str) {
        let millis = |value: &str| Duration::from_millis(number(value));
        match key {
            "load-ms" => self.load = millis(value),
            "at" => {
                self.at = match value.split_once(':') {
                    Some(("token", count)) => At::Token(number(count)),
                    _ if value == "ready" => At::Ready,
                    _ => At::Load,
                }
            }
            "exit" => self.end = Some(End::Exit(number(value))),
            "signal" => self.end = Some(End::Signal(number(value))),
            "oom" => self.oom = Some(value.into()),
            "ignore-term" => self.ignore_term = true,
            "term-ms" => self.term = millis(value),
            "silent" => self.silent = true,
            "no-listen" => self.no_listen = true,
            "body" => self.body = value.into(),
            "say" => self.say.push(value.into()),
            "half" => self.half = true,
            "chatter-ms" => self.chatter = Some(millis(value)),
            "flood" => self.flood = number(value),
            "child" => self.child = Some(value.into()),
            "tokens" => self.tokens = number(value),
            "token-ms" => self.pause = millis(value),
            _ => panic!("no such fault: {key}"),
        }
    }

    /// Ends the process as it was asked to.
    pub(crate) fn end(&self) {
        if let Some(path) = &self.oom {
            let text = fs::read_to_string(path).expect("the count is there");
            let line = text.lines().find(|line| line.starts_with("oom_kill ")).expect("a count");
            let count: u64 = number(&line["oom_kill ".len()..]);
            let risen = text.replace(line, &format!("oom_kill {}", count + 1));
            fs::write(path, risen).expect("the count can be raised");
        }
        match self.end {
            Some(End::Exit(code)) => exit(code),
            Some(End::Signal(number)) => {
                let signal = Signal::from_named_raw(number).expect("a signal");
                // Another thread may be the one that gets it, a moment later; and the first SIGSEGV
                // only takes Rust's own handler away.
                loop {
                    kill_process(getpid(), signal).expect("it can be raised");
                    thread::sleep(Duration::from_millis(10));
                }
            }
            None => {}
        }
    }

    /// Where it listens, as it says itself.
    pub(crate) fn address(&self) -> String {
        match self.host.ends_with(".sock") {
            true => format!("unix://{}", self.host),
            false => format!("http://{}:{}", self.host, self.port),
        }
    }
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}
