//! The laws of the fuzz targets over what the engine of bolero makes: bytes for readers, models for
//! what bytes alone do not reach. It prints the seed of what fails: `BOLERO_RANDOM_SEED=... cargo test`
//! runs that again.
#![cfg(target_has_atomic = "64")]

use std::cell::RefCell;
use std::panic::RefUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use bolero::{check, produce};
use laws::structured::{Archive, Asked, Call, Events, Fit, Frame, Header, Reply, Waiting};
use laws::{
    Verdict, bundle, frames, gguf, gguf_fit, gguf_split, gguf_write, gpu, http, json, kpack,
    limits, llama, msgpack, reference, search, serve, sse, target, zstd,
};
use rocload_core::Limits;
use rocload_core::gguf::Options;
use rocload_core::http::{Method, Request};
use rocload_core::kpack::Strictness;
use rocload_core::llama::Options as Answers;
use rocload_core::zstd::Workspace;

/// Inputs of a test.
const MANY: usize = 10_000;

#[track_caller]
fn hold(verdict: Verdict) {
    if let Err(broken) = verdict {
        panic!("{broken}");
    }
}

/// A number that differs from input to input.
fn seed(bytes: &[u8]) -> u64 {
    bytes.iter().fold(7, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Holds a law for so many inputs of up to `longest` bytes, and sees that they were there.
fn each(count: usize, longest: usize, law: impl Fn(&[u8]) + RefUnwindSafe) {
    let (runs, bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
    check!()
        .with_generator(produce::<Vec<u8>>().with().len(0..=longest))
        .with_iterations(count)
        .with_test_time(Duration::MAX)
        .for_each(|input: &Vec<u8>| {
            runs.fetch_add(1, Ordering::Relaxed);
            bytes.fetch_add(input.len(), Ordering::Relaxed);
            law(input);
        });
    let (runs, bytes) = (runs.into_inner(), bytes.into_inner());
    assert!(runs > 0 && bytes > runs * longest / 8, "{runs} inputs of {bytes} bytes");
}

/// Holds a law for the models that so many inputs choose, as in the fuzz targets.
fn models<T: for<'a> Arbitrary<'a>>(count: usize, law: fn(&T)) {
    let made = AtomicUsize::new(0);
    each(count, 600, |bytes| {
        if let Ok(model) = T::arbitrary_take_rest(Unstructured::new(bytes)) {
            made.fetch_add(1, Ordering::Relaxed);
            law(&model);
        }
    });
    let made = made.into_inner();
    assert!(made > 0 && (made > count / 2 || made > 100), "{made} models of {count} inputs");
}

#[test]
fn readers_of_bytes_agree_with_their_twins() {
    let each = |law: fn(&[u8])| each(MANY, 300, law);
    each(|bytes| hold(msgpack::reads_as_the_oracle(bytes)));
    each(|bytes| hold(msgpack::typed_reads_agree_with_tokens(bytes)));
    each(|bytes| hold(json::reads_as_the_oracle(bytes)));
    each(|bytes| hold(reference::reads_and_measures(bytes, seed(bytes))));
    each(|bytes| {
        hold(frames::walked(bytes, 0, bytes.len() as u64, &Limits::default(), Some(seed(bytes))));
    });
    each(|bytes| hold(bundle::sections_agree(bytes, seed(bytes))));
    each(|bytes| hold(gguf_split::names_agree(bytes)));
    each(|bytes| hold(target::candidates_agree(bytes)));
    each(|bytes| hold(gpu::visible(bytes, &[Some(7), None, Some(0x70)])));
    each(|bytes| hold(llama::bodies::read_as_the_oracle(200, bytes)));
    each(|bytes| hold(serve::lines::tell_what_is_in_them(bytes, seed(bytes))));
}

#[test]
fn any_chunking_gives_the_same() {
    let each = |law: fn(&[u8])| each(MANY / 4, 300, law);
    each(|bytes| hold(sse::as_the_standard_says(bytes, 40, Some(seed(bytes)))));
    each(|bytes| hold(http::any_chunking(bytes, Method::Get, Some(seed(bytes))).map(|_| ())));
    each(|bytes| hold(llama::any_chunking(bytes, Answers::new(), Some(seed(bytes))).map(|_| ())));
    each(|bytes| hold(limits::events(bytes, seed(bytes))));
    each(|bytes| hold(limits::response(bytes, seed(bytes))));
}

#[test]
fn a_supervisor_keeps_its_properties() {
    each(MANY, 200, |bytes| {
        let [policy, script @ ..] = bytes else { return };
        let script = serve::bytes::script(script);
        hold(serve::sample(serve::bytes::policy(*policy), &script, seed(bytes)));
    });
}

#[test]
fn a_search_goes_as_the_naive_one() {
    each(MANY, 300, |bytes| {
        hold(search::goes_as_the_naive_one(&search::Asked::new(bytes), seed(bytes)));
    });
}

#[test]
fn frames_of_chosen_blocks_are_decoded() {
    thread_local! {
        static DECODERS: RefCell<zstd::Decoders> = RefCell::new(zstd::Decoders::new());
    }
    models::<Frame>(MANY, |frame| {
        let (bytes, content) = frame.bytes();
        DECODERS.with_borrow_mut(|decoders| {
            if let Some(content) = &content {
                hold(zstd::sound(decoders, &bytes, content));
            }
            let size = content.map_or(4096, |content| content.len());
            hold(zstd::frames(decoders, &bytes, size).map(|_| ()));
        });
    });
}

#[test]
fn archives_of_chosen_kernels_are_read() {
    thread_local! {
        static DECODER: RefCell<Workspace<0>> = const { RefCell::new(Workspace::new()) };
    }
    models::<Archive>(MANY, |archive| {
        let (bytes, limits) = (archive.bytes(), Limits::default());
        for strictness in [Strictness::Strict, Strictness::Compat] {
            hold(kpack::views_agree(&bytes, &limits, strictness, Some(seed(&bytes))));
            hold(kpack::owned_agrees(&bytes, &limits, strictness, Some(seed(&bytes))));
        }
        DECODER.with_borrow_mut(|decoder| {
            let strict = Strictness::Strict;
            let read = laws::kernel::archive(decoder, &bytes, &limits, strict, seed(&bytes));
            hold(read.map(|_| ()));
        });
        hold(limits::kpack(&bytes, seed(&bytes)));
    });
}

#[test]
fn headers_of_chosen_keys_are_read_and_written() {
    models::<Header>(MANY / 2, |header| {
        hold(gguf_write::round_trip(&header.file()));
        let Some(bytes) = header.bytes() else { return };
        let (seed, options) = (seed(&bytes), Options::default());
        hold(gguf::any_chunking(&bytes, Some(bytes.len() as u64), options, Some(seed)));
        hold(gguf::reads_as_the_naive_reader(&bytes, options));
        hold(limits::gguf(&bytes, seed));
    });
}

#[test]
fn memory_fit_is_monotone() {
    models::<Fit>(MANY * 4, |fit| {
        let (model, settings, more, budgets) = fit.parts();
        hold(gguf_fit::monotone(&model, &settings, &more, budgets));
    });
}

#[test]
fn messages_of_http_are_written_and_read() {
    models::<Reply>(MANY / 2, |reply| {
        let method = if reply.head { Method::Head } else { Method::Get };
        hold(http::any_chunking(&reply.bytes(), method, Some(reply.seed)).map(|_| ()));
    });
    models::<Call>(MANY, |call| {
        let (target, headers) = (call.target(), call.headers());
        let mut request = Request::new(call.method(), &target);
        (request.headers, request.close, request.body) = (&headers, call.close, &call.body);
        hold(http::request::is_one_message(&request));
    });
    models::<Waiting>(MANY, |waiting| {
        hold(http::deadline::expires_once(waiting.timeouts(), &waiting.script()));
    });
}

#[test]
fn streams_and_requests_of_the_server_are_sound() {
    models::<Events>(MANY / 2, |events| {
        let options = Answers::new().answers(3);
        hold(llama::any_chunking(&events.bytes(), options, Some(events.seed)).map(|_| ()));
    });
    models::<Asked>(MANY, |asked| {
        hold(asked.is_sound());
    });
}
