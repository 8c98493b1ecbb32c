//! The cases of the standard, ours and those of the shared data, in every two-way cut and
//! bytewise.
#![cfg(feature = "alloc")]

use std::fs;
use std::path::Path;

use rocload_core::sse::{Item, Parser};
use rocload_core::{Limits, visit};
use rocload_fixtures::{fixtures_dir, shared_data_or_skip};
use serde_json::Value;

/// An event: type, data, id, and the reconnection time when it came.
type Event = (String, String, String, Option<u64>);

struct Case {
    name: String,
    input: Vec<u8>,
    events: Vec<Event>,
    id: String,
    retry: Option<u64>,
}

fn cases(path: &Path) -> Vec<Case> {
    let text = fs::read_to_string(path).unwrap();
    let string = |value: &Value| value.as_str().unwrap().to_owned();
    let case = |line: &str| {
        let case: Value = serde_json::from_str(line).unwrap();
        let events = case["expected_events"].as_array().unwrap().iter();
        let event = |event: &Value| {
            let [kind, data, id] = ["event", "data", "id"].map(|key| string(&event[key]));
            (kind, data, id, event["retry"].as_u64())
        };
        Case {
            name: string(&case["name"]),
            input: base64(case["input_base64"].as_str().unwrap()),
            events: events.map(event).collect(),
            id: string(&case["final_last_event_id"]),
            retry: case["final_retry"].as_u64(),
        }
    };
    text.lines().map(case).collect()
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut out) = (0u32, 0, Vec::new());
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        bits = bits << 6 | DIGITS.iter().position(|digit| *digit == byte).unwrap() as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}

/// The events of a stream in chunks, the last id and the reconnection time.
fn read<'i>(chunks: impl Iterator<Item = &'i [u8]>) -> (Vec<Event>, String, Option<u64>) {
    let mut parser = Parser::new(&Limits::default(), Vec::new());
    let mut events = Vec::new();
    for mut chunk in chunks {
        // One item at a time, to see the reconnection time with each.
        loop {
            let step = rocload_core::Machine::step(&mut parser, 0, chunk).unwrap();
            if step.ready {
                match rocload_core::Machine::item(&parser, chunk) {
                    Item::Event(event) => events.push((
                        event.event_lossy().into_owned(),
                        event.data_lossy().into_owned(),
                        event.id_lossy().into_owned(),
                        parser.retry(),
                    )),
                    other => panic!("{other:?}"),
                }
            } else if step.consumed == 0 {
                break;
            }
            chunk = &chunk[step.consumed..];
        }
        assert!(chunk.is_empty());
    }
    let id = String::from_utf8_lossy(parser.last_event_id()).into_owned();
    (events, id, parser.retry())
}

fn holds(case: &Case) {
    let wanted = (case.events.clone(), case.id.clone(), case.retry);
    let name = &case.name;
    assert_eq!(read([&case.input[..]].into_iter()), wanted, "{name}, whole");
    assert_eq!(read(case.input.chunks(1)), wanted, "{name}, bytewise");
    for cut in 0..=case.input.len() {
        let (one, other) = case.input.split_at(cut);
        // An empty chunk in between is none.
        assert_eq!(read([one, &[], other].into_iter()), wanted, "{name}, cut at {cut}");
    }
}

#[test]
fn our_cases() {
    let cases = cases(&fixtures_dir().join("sse/spec_cases.jsonl"));
    assert!(cases.len() >= 45, "{}", cases.len());
    cases.iter().for_each(holds);
}

#[test]
fn the_shared_cases() {
    let Some(data) = shared_data_or_skip("the_shared_cases") else { return };
    let cases = cases(&data.join("sse/spec_cases.jsonl"));
    assert!(cases.len() > 60, "{}", cases.len());
    cases.iter().for_each(holds);
}

#[test]
fn report_08_a_line_of_70000_bytes_is_an_event_or_told() {
    let long = [b"data: ", &[b'x'; 70_000][..], b"\n\ndata: next\n\n"].concat();
    for chunk in [1, 4096, usize::MAX] {
        let (events, ..) = read(long.chunks(chunk));
        assert_eq!(events.iter().map(|event| event.1.len()).collect::<Vec<_>>(), [70_000, 4]);
        let mut parser = Parser::new(&Limits::default(), [0u8; 4096]);
        let mut items = Vec::new();
        for chunk in long.chunks(chunk) {
            visit(&mut parser, 0, chunk, |item| items.push(format!("{item:?}"))).unwrap();
        }
        assert_eq!(items.len(), 2);
        assert!(items[0].starts_with("Overflow") && items[1].contains("data: [110, 101"));
    }
}

#[test]
fn data_is_judged_event_by_event() {
    let stream = b"data: a\xff\n\ndata: ok\n\n";
    let mut parser = Parser::new(&Limits::default(), [0u8; 64]);
    let mut verdicts = Vec::new();
    visit(&mut parser, 0, stream, |item| {
        let Item::Event(event) = item else { panic!("{item:?}") };
        verdicts.push(event.data_str().map(str::len).map_err(|error| error.valid_up_to()));
    })
    .unwrap();
    assert_eq!(verdicts, [Err(1), Ok(2)]);
}
