//! The async drivers.

use std::future::Future;
use std::io;
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use ::tokio::io::{AsyncRead, ReadBuf};
use laws::machines::{Chain, Kept, Link};
use rocload::drive::{Driven, Window};
use rocload::tokio::AsyncReadAt;
use rocload_core::{End, ItemKind, Machine};

use crate::suite::{Driver, add, expected, linked, suite};

/// Random access that is not ready at every other poll.
struct AsyncAt(usize);
/// Streams that are not ready at every other poll.
struct AsyncStream(usize);

/// Is not ready once.
struct Once(bool);

impl Future for Once {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

struct LazyAt<'a>(&'a [u8], usize, AtomicU32);

impl AsyncReadAt for LazyAt<'_> {
    async fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        Once(false).await;
        if self.2.fetch_add(1, Ordering::Relaxed) % 3 == 2 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let n = buf.len().min(self.1);
        self.0.read_at(&mut buf[..n], offset).await
    }
}

struct Lazy<'a>(&'a [u8], usize, bool);

impl AsyncRead for Lazy<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.2 = !self.2;
        if self.2 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let n = buf.remaining().min(self.1).min(self.0.len());
        let (now, later) = self.0.split_at(n);
        buf.put_slice(now);
        self.0 = later;
        Poll::Ready(Ok(()))
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    ::tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

impl Driver for AsyncAt {
    fn drive<M: Machine>(
        &self,
        source: &[u8],
        machine: &mut M,
        window: &mut Window,
        see: impl FnMut(<M::Kind as ItemKind>::Item<'_>) -> ControlFlow<u32>,
    ) -> Driven<u32> {
        let source = LazyAt(source, self.0, AtomicU32::new(0));
        block_on(rocload::tokio::read_at(&source, machine, window, see))
    }

    const SEEKS: bool = true;
}

impl Driver for AsyncStream {
    fn drive<M: Machine>(
        &self,
        source: &[u8],
        machine: &mut M,
        window: &mut Window,
        see: impl FnMut(<M::Kind as ItemKind>::Item<'_>) -> ControlFlow<u32>,
    ) -> Driven<u32> {
        let mut source = Lazy(source, self.0, false);
        block_on(rocload::tokio::stream(&mut source, machine, window, see))
    }

    const SEEKS: bool = false;
}

#[test]
fn random_access() {
    for most in [1, 7, 4096, usize::MAX] {
        suite(&AsyncAt(most));
    }
}

#[test]
fn streams() {
    for most in [1, 7, 4096, usize::MAX] {
        suite(&AsyncStream(most));
    }
}

/// Polls a future once and drops it.
fn poll_once<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

#[test]
fn a_dropped_future_loses_nothing() {
    let source = linked(false);
    let mut reader = Lazy(&source, 999, false);
    let (mut machine, mut window) = (Chain::new(), Window::new());
    let (mut items, mut drops): (Vec<Kept>, u32) = (Vec::new(), 0);
    let driven = loop {
        let future = rocload::tokio::stream(&mut reader, &mut machine, &mut window, |link| {
            add(&mut items, Kept::from(link));
            ControlFlow::<()>::Continue(())
        });
        match poll_once(future) {
            Some(driven) => break driven,
            None => drops += 1,
        }
    };
    assert_eq!(driven.unwrap(), ControlFlow::Continue(End::Complete));
    assert!(drops > 100, "{drops}");
    assert_eq!(items, expected(Chain::new(), |link: Link<'_>| Kept::from(link), &source).0);
}

#[test]
fn the_future_can_move_to_another_thread() {
    fn sent<T: Send>(value: T) -> T {
        value
    }
    let source = linked(false);
    let (mut machine, mut window, mut count) = (Chain::new(), Window::new(), 0);
    let driven =
        block_on(sent(rocload::tokio::read_at(&source[..], &mut machine, &mut window, |_| {
            count += 1;
            ControlFlow::<()>::Continue(())
        })));
    assert_eq!(driven.unwrap(), ControlFlow::Continue(End::Complete));
    assert_eq!(count, 6);
}
