//! Targets whose inputs have a structure: bytes choose a model, and the model is judged.

use core::cell::RefCell;

use arbitrary::{Arbitrary, Unstructured};
use laws::structured::{Archive, Asked, Call, Events, Fit, Frame, Header, Reply, Waiting};
use laws::{gguf as header, gguf_fit as fit, gguf_write as file, http, kernel, kpack, llama, zstd};
use rocload_core::gguf::{Options, Strictness};
use rocload_core::http::{Method, Request};
use rocload_core::kpack::Strictness as Kpack;
use rocload_core::llama::Options as Answers;
use rocload_core::zstd::Workspace;

use crate::{hold, limits, seed};

/// The model that bytes choose.
fn model<T: for<'a> Arbitrary<'a>>(bytes: &[u8]) -> Option<T> {
    T::arbitrary_take_rest(Unstructured::new(bytes)).ok()
}

/// An archive whose table is sound in its syntax: the views, opening, and every kernel.
pub fn kpack_model(bytes: &[u8]) {
    thread_local! {
        static DECODER: RefCell<Workspace<0>> = const { RefCell::new(Workspace::new()) };
    }
    let Some(model) = model::<Archive>(bytes) else { return };
    let (archive, seed, limits) = (model.bytes(), seed(bytes), limits());
    let strictness = if seed.is_multiple_of(2) { Kpack::Strict } else { Kpack::Compat };
    hold(kpack::views_agree(&archive, &limits, strictness, Some(seed)));
    hold(kpack::owned_agrees(&archive, &limits, strictness, Some(seed)));
    let total = archive.len() as u64;
    hold(kpack::open_any_way(&archive, total, &limits, strictness, Some(seed)));
    DECODER.with_borrow_mut(|decoder| {
        hold(kernel::archive(decoder, &archive, &limits, strictness, seed).map(|_| ()));
    });
}

/// A frame of chosen blocks: both layouts and the C library give its content, whole and by pieces;
/// with lies they still agree.
pub fn zstd_blocks(bytes: &[u8]) {
    thread_local! {
        static DECODERS: RefCell<zstd::Decoders> = RefCell::new(zstd::Decoders::new());
    }
    let Some(model) = model::<Frame>(bytes) else { return };
    let (frame, content) = model.bytes();
    let seed = seed(bytes);
    DECODERS.with_borrow_mut(|decoders| {
        if let Some(content) = &content {
            hold(zstd::sound(decoders, &frame, content));
        }
        let size = content.map_or_else(|| decoders.size(&frame, 64 << 10), |content| content.len());
        if seed.is_multiple_of(2) {
            hold(zstd::frames(decoders, &frame, size).map(|_| ()));
        } else {
            let more = [1, 31, 500][(seed >> 8) as usize % 3];
            hold(zstd::pieces(decoders, &frame, size, &limits(), more).map(|_| ()));
        }
    });
}

/// A header of chosen keys and tensors, with lies.
pub fn gguf_header(bytes: &[u8]) {
    let Some(bytes) = model::<Header>(bytes).and_then(|model| model.bytes()) else { return };
    crate::gguf_reader(&bytes);
    let options = Options { limits: limits(), strictness: Strictness::Tolerant };
    hold(header::table::judged_as_by_the_twin(&bytes, options));
}

/// A file that the writer is given: what it takes is read back as it was, and written again.
pub fn gguf_write(bytes: &[u8]) {
    let Some(model) = model::<Header>(bytes) else { return };
    hold(file::round_trip(&model.file()));
}

/// Memory fit of a model in harder and harder cases.
pub fn gguf_fit(bytes: &[u8]) {
    let Some(model) = model::<Fit>(bytes) else { return };
    let (model, settings, more, budgets) = model.parts();
    hold(fit::monotone(&model, &settings, &more, budgets));
}

/// A response of chosen heads and chunks, with lies.
pub fn http_reply(bytes: &[u8]) {
    let Some(model) = model::<Reply>(bytes) else { return };
    let method = if model.head { Method::Head } else { Method::Get };
    hold(http::any_chunking(&model.bytes(), method, Some(model.seed)).map(|_| ()));
}

/// A request is one message, or refused.
pub fn http_request(bytes: &[u8]) {
    let Some(model) = model::<Call>(bytes) else { return };
    let (target, headers) = (model.target(), model.headers());
    let mut request = Request::new(model.method(), &target);
    (request.headers, request.close, request.body) = (&headers, model.close, &model.body);
    if let Some(host) = &model.host {
        request.host = host;
    }
    if let Some(accept) = &model.accept {
        request.accept = accept;
    }
    hold(http::request::is_one_message(&request));
}

/// Deadlines of an exchange, whatever happens when.
pub fn http_deadline(bytes: &[u8]) {
    let Some(model) = model::<Waiting>(bytes) else { return };
    hold(http::deadline::expires_once(model.timeouts(), &model.script()));
}

/// A stream of chosen events, with lies.
pub fn llama_events(bytes: &[u8]) {
    let Some(model) = model::<Events>(bytes) else { return };
    let seed = model.seed;
    let options = Answers::new().lenient_eof(seed & 1 == 1).answers(1 + (seed >> 1 & 3) as u32);
    hold(llama::any_chunking(&model.bytes(), options, Some(seed)).map(|_| ()));
}

/// Bodies of requests.
pub fn llama_request(bytes: &[u8]) {
    let Some(model) = model::<Asked>(bytes) else { return };
    hold(model.is_sound());
}
