//! What is measured: each gives the number of events and the bytes of their data as text, so
//! that the check of UTF-8 is in everyone's time but that of the bare scan.

use std::convert::Infallible;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use eventsource_stream::Eventsource as _;
use futures_util::Stream as _;
use rocload_core::sse::{Item, Parser};
use rocload_core::{Limits, visit};
use sse_core::{SseDecoder, SseEvent};

/// A parser, or the bare scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Candidate {
    Rocload,
    SseCore,
    EventsourceStream,
    /// The line ends alone.
    Memchr2,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Seen {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

impl Seen {
    fn text(&mut self, text: &str) {
        self.events += 1;
        self.bytes += black_box(text).len();
    }
}

impl Candidate {
    pub(crate) const ALL: [Candidate; 4] =
        [Candidate::Rocload, Candidate::SseCore, Candidate::EventsourceStream, Candidate::Memchr2];

    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Candidate::Rocload => "rocload",
            Candidate::SseCore => "sse-core",
            Candidate::EventsourceStream => "eventsource-stream",
            Candidate::Memchr2 => "memchr2, a bare scan",
        }
    }

    /// Whether it finds events.
    pub(crate) fn parses(self) -> bool {
        self != Candidate::Memchr2
    }

    /// Whether a few rounds are enough.
    pub(crate) fn too_slow(self, chunk: usize) -> bool {
        self == Candidate::EventsourceStream && chunk < 4096
    }

    /// Over the input in chunks.
    pub(crate) fn run(self, input: &[u8], chunk: usize) -> Seen {
        match self {
            Candidate::Rocload => rocload(input, chunk),
            Candidate::SseCore => core(input, chunk),
            Candidate::EventsourceStream => stream(input, chunk),
            Candidate::Memchr2 => scan(input, chunk),
        }
    }
}

fn rocload(input: &[u8], chunk: usize) -> Seen {
    // Room for the long line, lent: the parser has no allocator.
    thread_local! {
        static ROOM: std::cell::RefCell<Vec<u8>> = std::cell::RefCell::new(vec![0; 1 << 20]);
    }
    ROOM.with_borrow_mut(|room| {
        let mut seen = Seen::default();
        let mut parser = Parser::new(&Limits::default(), &mut room[..]);
        for chunk in input.chunks(chunk) {
            let used = visit(&mut parser, 0, chunk, |item| {
                if let Item::Event(event) = item {
                    seen.text(event.data_str().expect("the input is UTF-8"));
                }
            });
            assert_eq!(used, Ok(chunk.len()));
        }
        seen
    })
}

fn core(input: &[u8], chunk: usize) -> Seen {
    let mut seen = Seen::default();
    let mut decoder = SseDecoder::with_limit((2 << 20).try_into().expect("not zero"));
    for mut chunk in input.chunks(chunk) {
        while let Some(event) = decoder.next(&mut chunk) {
            if let SseEvent::Message(message) = event.expect("it is small enough") {
                seen.text(&message.data);
            }
        }
    }
    seen
}

fn stream(input: &[u8], chunk: usize) -> Seen {
    let mut seen = Seen::default();
    let chunks = input.chunks(chunk).map(Ok::<_, Infallible>);
    let mut stream = pin!(futures_util::stream::iter(chunks).eventsource());
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match stream.as_mut().poll_next(&mut context) {
            Poll::Ready(Some(event)) => seen.text(&event.expect("the input is UTF-8").data),
            Poll::Ready(None) => return seen,
            Poll::Pending => unreachable!("an iterator is always ready"),
        }
    }
}

fn scan(input: &[u8], chunk: usize) -> Seen {
    let mut seen = Seen::default();
    for chunk in input.chunks(chunk) {
        seen.events += memchr::memchr2_iter(b'\n', b'\r', chunk).map(black_box).count();
    }
    seen
}
