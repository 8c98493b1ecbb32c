//! Random streams: the parser against the standard transcribed, against a naive reader of bytes,
//! and against sse-core; as many as the requirement says.

use laws::random::Random;
use laws::sse::{Given, Kept, as_the_standard_says, soup, transcribed};
use rocload_fixtures::share;
use sse_core::{SseDecoder, SseEvent};

const STREAMS: u32 = 300_000;

#[test]
fn random_streams_give_what_the_standard_says() {
    let mut random = Random::new(0x55e);
    for _ in 0..share(STREAMS) {
        let stream = soup(&mut random);
        let room = random.below(12) as usize;
        let seed = random.next();
        if let Err(broken) = as_the_standard_says(&stream, room, Some(seed)) {
            panic!("{broken}: {:?}", stream.escape_ascii().to_string());
        }
    }
}

/// What sse-core gives, in chunks of up to `most` bytes. Its times are 32 bits wide.
fn by_sse_core(stream: &[u8], random: &mut Random, most: u64) -> Given {
    let mut decoder = SseDecoder::new();
    let mut given = Given { items: Vec::new(), id: String::new(), retry: None, pending: "none" };
    let mut rest = stream;
    while !rest.is_empty() {
        let (mut chunk, behind) = rest.split_at((1 + random.below(most) as usize).min(rest.len()));
        rest = behind;
        while let Some(event) = decoder.next(&mut chunk) {
            match event.unwrap() {
                SseEvent::Retry(time) => given.retry = Some(time.into()),
                SseEvent::Message(message) => {
                    let id = message.last_event_id.as_deref().unwrap_or_default();
                    given.items.push(Kept::Event(
                        message.event.into_owned(),
                        message.data,
                        id.to_owned(),
                    ));
                }
            }
        }
    }
    given.id = decoder.last_event_id().map(ToString::to_string).unwrap_or_default();
    given
}

#[test]
fn random_streams_give_what_sse_core_gives() {
    let mut random = Random::new(0xc04e);
    for _ in 0..share(STREAMS) {
        let stream = soup(&mut random);
        let most = 1 << random.below(8);
        let mut standard = transcribed(&stream);
        let theirs = by_sse_core(&stream, &mut random, most);
        if standard.retry.is_some_and(|time| time > u64::from(u32::MAX)) {
            standard.retry = theirs.retry;
        }
        assert_eq!(standard, theirs, "{}", stream.escape_ascii());
        // And ours gives what the standard says.
        let verdict = as_the_standard_says(&stream, stream.len(), Some(random.next()));
        assert_eq!(verdict, Ok(()), "{}", stream.escape_ascii());
    }
}
