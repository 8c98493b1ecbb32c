//! An answer of llama-server as it comes over a wire: server-sent events; where there is room for
//! more code, in HTTP's chunks and with the JSON in them.

use rocload_core::http::{Item as Part, Method, Response};
use rocload_core::llama::{Item, Options, Outcome, Reason, Stream};
use rocload_core::sse::{self, Parser};
use rocload_core::{End, Error, Machine, Need, Storage, visit};

use crate::{BUFFER, File, Kit, LIMITS, Wrong, expect, tell};

/// The events of the captured answer, their data in bytes, and the last of them.
const EVENTS: usize = 14;
const DATA: usize = 5892;
const LAST: &[u8] = b"[DONE]";
/// What the server said, and its tokens.
const TEXT: &[u8] = b" }7\"D|ip";
const TOKENS: u64 = 8;
/// What a wire gives at once, in bytes: events and lines are cut anywhere.
const WIRE: usize = 61;

/// Feeds the captured answer to `body`, as a wire does, through the machine that takes HTTP off.
fn wire<S: Storage>(
    kit: &mut Kit<'_>,
    head: S,
    mut body: impl FnMut(&[u8]) -> Result<usize, Error>,
) -> Result<(), Wrong> {
    let mut response = Response::new(Method::Post, &LIMITS, head);
    let (mut at, mut fault) = (0, None);
    while response.need() != Need::Done {
        let read = kit.files.read(File::Answer, at, &mut kit.buffer[..WIRE]);
        if read == 0 {
            break;
        }
        visit(&mut response, at, &kit.buffer[..read], |part| {
            if let Part::Body(bytes) = part {
                fault = fault.or(body(bytes).err());
            }
        })?;
        at += read as u64;
    }
    fault.map_or(Ok(()), Err)?;
    expect(response.status() == Some(200), "another status")?;
    expect(response.end()? == End::Complete, "an answer that is cut off")
}

/// Reads the events of the answer in memory on the stack.
#[inline(never)]
pub(crate) fn events(kit: &mut Kit<'_>) -> Result<(), Wrong> {
    let (mut events, mut bytes, mut last, mut at) = (0, 0, false, 0);
    let mut memory = [0; 1024];
    let mut parser = Parser::new(&LIMITS, &mut memory[..]);
    loop {
        let read = kit.files.read(File::Events, at, &mut kit.buffer[..WIRE]);
        if read == 0 {
            break;
        }
        visit(&mut parser, at, &kit.buffer[..read], |item| {
            if let sse::Item::Event(event) = item {
                events += 1;
                bytes += event.data.len();
                last = event.data == LAST;
            }
        })?;
        at += read as u64;
    }
    expect(parser.end()? == End::Complete, "an event that is cut off")?;
    expect((events, bytes) == (EVENTS, DATA) && last, "other events")?;
    tell!(kit.out, "answer: ", events, " events, ", bytes, " bytes of data")
}

/// Reads the answer itself out of its events: text, tokens, the reason for its end. `storage`
/// makes memory of so many bytes, which an event or a string with escapes needs.
///
/// # Errors
/// The first thing that is not as it should be.
pub fn chat<S: Storage>(kit: &mut Kit<'_>, storage: impl Fn(usize) -> S) -> Result<(), Wrong> {
    let (event, escaped) = (storage(1024), storage(256));
    let mut stream = Stream::new(Options::new(), &LIMITS, event, escaped);
    let (mut text, mut len) = ([0u8; 64], 0);
    let (mut tokens, mut ending) = (None, None);
    wire(kit, storage(512), |body| {
        visit(&mut stream, 0, body, |item| match item {
            Item::Text { text: more, .. } => {
                if let Some(room) = text.get_mut(len..len + more.len()) {
                    room.copy_from_slice(more.as_bytes());
                }
                len += more.len();
            }
            Item::Usage(usage) => tokens = usage.completion,
            Item::End(end) => ending = Some(end),
            _ => {}
        })
    })?;
    expect(text.get(..len) == Some(TEXT), "another text")?;
    expect(tokens == Some(TOKENS), "another number of tokens")?;
    let ending = ending.ok_or(Wrong::Found("a stream without an end"))?;
    expect(ending.outcome == Outcome::Complete, "a stream that is cut off")?;
    expect(ending.received.events == EVENTS as u64, "another number of events")?;
    expect(ending.received.finish == Some(Reason::Length), "another reason to finish")?;
    tell!(kit.out, "chat: ", TOKENS, " tokens, ", len, " bytes of text")?;
    Ok(())
}

/// An event that is larger than its memory is told, and the next one is read.
#[inline(never)]
pub(crate) fn overflow(kit: &mut Kit<'_>) -> Result<(), Wrong> {
    let mut memory = [0u8; 16];
    let mut parser = Parser::new(&LIMITS, &mut memory[..]);
    let (mut lost, mut events) = (0, 0);
    kit.buffer.fill(b'x');
    let parts = [&b"data: "[..], &kit.buffer[..BUFFER], b"\n\ndata: short\n\n"];
    for part in parts {
        visit(&mut parser, 0, part, |item| match item {
            sse::Item::Overflow(_) => lost += 1,
            sse::Item::Event(event) if event.data == b"short" => events += 1,
            _ => {}
        })?;
    }
    expect((lost, events) == (1, 1), "an event that is too large, and one behind it")?;
    tell!(kit.out, "event of ", BUFFER, " bytes: too large for 16, told and passed over")?;
    Ok(())
}
