//! The thread that watches a server.

use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};

use crate::serve::{Bell, Engine, Launch, Shared, Watched};

const WAKE: Token = Token(0);

/// How the watching thread and those who wait wake each other.
pub(super) struct Signals {
    version: Mutex<u64>,
    condvar: Condvar,
    waker: Waker,
}

impl Bell for Signals {
    fn changed(&self) {
        *self.version.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.condvar.notify_all();
    }

    fn wake(&self) {
        // It fails only where the thread's end of it is gone.
        let _ = self.waker.wake();
    }
}

impl Signals {
    /// Asks again at every change until there is an answer, for `limit` at most.
    pub(super) fn wait<T>(
        &self,
        limit: Option<Duration>,
        mut ask: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        let begun = Instant::now();
        let lock = || self.version.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let seen = *lock();
            if let Some(answer) = ask() {
                return Some(answer);
            }
            let mut version = lock();
            while *version == seen {
                version = match limit {
                    None => self.condvar.wait(version).unwrap_or_else(PoisonError::into_inner),
                    Some(limit) => {
                        let left = limit.checked_sub(begun.elapsed())?;
                        let waited = self.condvar.wait_timeout(version, left);
                        waited.unwrap_or_else(PoisonError::into_inner).0
                    }
                };
            }
        }
    }
}

/// Starts the thread.
pub(super) fn begin(launch: Launch) -> io::Result<(Arc<Shared<Signals>>, JoinHandle<()>)> {
    let poll = Poll::new()?;
    let waker = Waker::new(poll.registry(), WAKE)?;
    let signals = Signals { version: Mutex::default(), condvar: Condvar::new(), waker };
    let shared = Arc::new(Shared::new(signals));
    let engine = Engine::new(launch, shared.clone());
    let name = "rocload-server".to_owned();
    let thread = thread::Builder::new().name(name).spawn(move || supervise(engine, poll))?;
    Ok((shared, thread))
}

/// What of the engine's descriptors is waited for.
struct Registered {
    poll: Poll,
    known: Vec<Watched>,
    /// The system watches no more descriptors: they are looked at now and then.
    blind: bool,
}

fn supervise(mut engine: Engine<Signals>, poll: Poll) {
    let mut events = Events::with_capacity(16);
    let mut registered = Registered { poll, known: Vec::new(), blind: false };
    loop {
        engine.turn();
        if engine.is_over() {
            return;
        }
        registered.update(&engine);
        let mut wait = engine.wait();
        if registered.blind {
            let look = crate::process::Child::LOOK;
            wait = Some(wait.map_or(look, |wait| wait.min(look)));
        }
        // An interruption is as good as an event.
        let _ = registered.poll.poll(&mut events, wait);
        if registered.blind {
            registered.known.iter().for_each(|watched| engine.ready(watched.key));
        }
        events.iter().for_each(|event| engine.ready(event.token().0));
    }
}

impl Registered {
    fn update(&mut self, engine: &Engine<Signals>) {
        let registry = self.poll.registry();
        let wanted: Vec<Watched> = engine.watched().collect();
        self.known.retain(|known| {
            let stays = wanted.iter().any(|watched| watched.key == known.key);
            if !stays {
                // The descriptor is open still, since it is held here.
                let _ = registry.deregister(&mut SourceFd(&known.fd.as_raw_fd()));
            }
            stays
        });
        for new in wanted {
            if self.known.iter().any(|known| known.key == new.key) {
                continue;
            }
            let interest = if new.write {
                Interest::READABLE | Interest::WRITABLE
            } else {
                Interest::READABLE
            };
            let fd = new.fd.as_raw_fd();
            self.blind |= registry.register(&mut SourceFd(&fd), Token(new.key), interest).is_err();
            self.known.push(new);
        }
    }
}
