//! The task that watches a server.

use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::tokio::io::Interest;
use ::tokio::io::unix::AsyncFd;
use ::tokio::runtime::Handle;
use ::tokio::sync::Notify;
use ::tokio::time::{Instant, sleep, timeout_at};

use crate::process::Child;
use crate::serve::{Bell, Engine, Launch, Shared, Watched};

/// How the watching task and those who wait wake each other.
pub(super) struct Signals {
    changed: Notify,
    wake: Notify,
}

impl Bell for Signals {
    fn changed(&self) {
        self.changed.notify_waiters();
    }

    fn wake(&self) {
        self.wake.notify_one();
    }
}

impl Signals {
    /// Asks again at every change until there is an answer, for `limit` at most.
    pub(super) async fn wait<T>(
        &self,
        limit: Option<Duration>,
        mut ask: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            let mut changed = pin!(self.changed.notified());
            // A change between the question and the wait must count.
            changed.as_mut().enable();
            if let Some(answer) = ask() {
                return Some(answer);
            }
            match until {
                None => changed.await,
                Some(until) => timeout_at(until, changed).await.ok()?,
            }
        }
    }
}

/// Starts the task.
pub(super) fn begin(launch: Launch, runtime: &Handle) -> Arc<Shared<Signals>> {
    let signals = Signals { changed: Notify::new(), wake: Notify::new() };
    let shared = Arc::new(Shared::new(signals));
    let engine = Engine::new(launch, shared.clone());
    runtime.spawn(supervise(engine, shared.clone()));
    shared
}

/// A descriptor of the engine that is waited for; `None` = the system watches no more of them.
struct Known(Watched, Option<AsyncFd<Arc<OwnedFd>>>);

async fn supervise(mut engine: Engine<Signals>, shared: Arc<Shared<Signals>>) {
    let mut known: Vec<Known> = Vec::new();
    loop {
        engine.turn();
        if engine.is_over() {
            return;
        }
        update(&mut known, &engine);
        let blind = known.iter().any(|Known(_, fd)| fd.is_none());
        let look = blind.then_some(Child::LOOK);
        let wait = engine.wait().into_iter().chain(look).min();
        let mut time = pin!(wait.map(sleep));
        let mut wake = pin!(shared.bell.wake.notified());
        let ready = poll_fn(|cx| {
            let ready: Vec<usize> =
                known.iter().filter(|known| known.is_ready(cx)).map(|known| known.0.key).collect();
            let woken = wake.as_mut().poll(cx).is_ready();
            let late = time.as_mut().as_pin_mut().is_some_and(|time| time.poll(cx).is_ready());
            if woken || late || !ready.is_empty() { Poll::Ready(ready) } else { Poll::Pending }
        })
        .await;
        ready.into_iter().for_each(|key| engine.ready(key));
        if blind {
            known.iter().for_each(|Known(watched, _)| engine.ready(watched.key));
        }
    }
}

impl Known {
    /// Whether it has become ready, once for each time.
    fn is_ready(&self, cx: &mut Context<'_>) -> bool {
        let Known(watched, Some(fd)) = self else { return false };
        let mut ready = false;
        // The engine reads until there is no more, so that nothing is lost by forgetting it now.
        while let Poll::Ready(Ok(mut guard)) = fd.poll_read_ready(cx) {
            guard.clear_ready();
            ready = true;
        }
        while watched.write
            && let Poll::Ready(Ok(mut guard)) = fd.poll_write_ready(cx)
        {
            guard.clear_ready();
            ready = true;
        }
        ready
    }
}

fn update(known: &mut Vec<Known>, engine: &Engine<Signals>) {
    let wanted: Vec<Watched> = engine.watched().collect();
    known.retain(|Known(old, _)| wanted.iter().any(|watched| watched.key == old.key));
    for new in wanted {
        if known.iter().any(|Known(old, _)| old.key == new.key) {
            continue;
        }
        let interest =
            if new.write { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        #[expect(
            deprecated,
            reason = "it trusts that a descriptor stays open and the same, which one that is owned \
                      does; what replaces it is unsafe for all"
        )]
        let fd = AsyncFd::with_interest(new.fd.clone(), interest).ok();
        known.push(Known(new, fd));
    }
}
