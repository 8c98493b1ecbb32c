//! Captured answers of real servers: the response, its events and its protocol items are the
//! same at every cut.

use laws::http::{any_chunking, mutated, soup};
use laws::random::Random;
use laws::split::SEEDED_CUTS;
use rocload_core::http::{Item, Method, Response};
use rocload_core::llama::{Options, Stream};
use rocload_core::{End, Error, Limits, Machine, Need, visit};
use rocload_fixtures::{captured, share};

#[test]
fn captured_responses_are_the_same_in_any_chunking() {
    for answer in captured("captured_responses_are_the_same_in_any_chunking") {
        let given = any_chunking(&answer.wire, Method::Get, None).unwrap();
        assert_eq!((given.status, &given.body), (answer.status, &answer.body), "{}", answer.name);
        let end = if answer.cut { Some("body") } else { None };
        assert_eq!(given.end, Ok(end), "{}", answer.name);
    }
}

/// Both machines as a driver joins them: the items as text, and how the response ended. One of
/// the captures lost some bytes, which is an error and must be the same error at every cut.
fn items<'w>(pieces: impl Iterator<Item = &'w [u8]>) -> (Vec<String>, Result<End, Error>) {
    let limits = Limits::default();
    let mut response = Response::new(Method::Post, &limits, [0u8; 4096]);
    let mut stream = Stream::new(Options::new(), &limits, [0u8; 32 << 10], [0u8; 4096]);
    let mut items = Vec::new();
    let (mut offset, mut body) = (0, 0);
    for mut piece in pieces {
        loop {
            let step = response.step(offset, piece).unwrap();
            if step.ready
                && let Item::Body(part) = response.item(piece)
            {
                match visit(&mut stream, body, part, |item| items.push(format!("{item:?}"))) {
                    Ok(used) => body += used as u64,
                    Err(error) => return (items, Err(error)),
                }
            }
            offset += step.consumed as u64;
            piece = &piece[step.consumed..];
            if piece.is_empty() || response.need() == Need::Done {
                break;
            }
        }
    }
    while let End::Item = stream.end().unwrap() {
        items.push(format!("{:?}", stream.item(&[])));
    }
    (items, response.end())
}

#[test]
fn captured_streams_give_the_same_items_at_every_cut() {
    for answer in captured("captured_streams_give_the_same_items_at_every_cut") {
        if !answer.stream {
            continue;
        }
        let wire = &answer.wire;
        let whole = items([&wire[..]].into_iter());
        assert!(whole.0.len() > 2, "{}", answer.name);
        assert_eq!(whole.1 == Ok(End::Complete), !answer.cut, "{}", answer.name);
        let at = |cut: usize| {
            let (one, other) = wire.split_at(cut);
            assert_eq!(items([one, other].into_iter()), whole, "{} at {cut}", answer.name);
        };
        assert_eq!(items(wire.chunks(1)), whole, "{} bytewise", answer.name);
        if wire.len() <= 8 << 10 {
            (1..wire.len()).for_each(at);
        } else {
            // Each machine alone is tried at every cut up to 64 KiB; joined, at seeded ones.
            let mut random = Random::new(wire.len() as u64);
            (0..SEEDED_CUTS).for_each(|_| at(1 + random.below(wire.len() as u64 - 1) as usize));
        }
    }
}

#[test]
fn random_responses_are_the_same_in_any_chunking() {
    let mut random = Random::new(0x4774);
    let methods = [Method::Get, Method::Get, Method::Get, Method::Head];
    let rounds = share(60_000) as usize;
    let mut complete = 0;
    for round in 0..rounds {
        let bytes = soup(&mut random);
        let method = methods[round % 4];
        match any_chunking(&bytes, method, Some(random.next())) {
            Ok(given) => complete += usize::from(given.end == Ok(None)),
            Err(broken) => panic!("{broken}: {}", bytes.escape_ascii()),
        }
    }
    // The pieces are likely enough to make sense now and then.
    assert!((rounds / 12..rounds * 11 / 12).contains(&complete), "{complete} of {rounds}");
}

#[test]
fn mutated_captures_are_the_same_in_any_chunking() {
    let mut random = Random::new(0x3117);
    let all = captured("mutated_captures_are_the_same_in_any_chunking");
    for _ in 0..share(4_000) {
        let answer = &all[random.below(all.len() as u64) as usize];
        let bytes = mutated(&answer.wire[..answer.wire.len().min(4000)], &mut random);
        if let Err(broken) = any_chunking(&bytes, Method::Get, Some(random.next())) {
            panic!("{broken}: {}", bytes.escape_ascii());
        }
    }
}
