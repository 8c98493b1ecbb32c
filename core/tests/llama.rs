//! The protocol's machines used by hand: memory, dialects, whole answers.

use rocload_core::llama::{
    Answer, Dialect, Ending, Item, Options, Outcome, Overflow, Reason, Stream, ToolPart,
};
use rocload_core::{End, Limits, Machine, Need, visit};

fn items(options: Options, body: &[u8]) -> (Vec<String>, Option<Ending>) {
    let mut stream = Stream::new(options, &Limits::default(), [0u8; 512], [0u8; 64]);
    let (mut items, mut end) = (Vec::new(), None);
    let mut keep = |item: Item<'_>| match item {
        Item::End(ending) => end = Some(ending),
        item => items.push(format!("{item:?}")),
    };
    visit(&mut stream, 0, body, &mut keep).unwrap();
    while stream.end().unwrap() == End::Item {
        keep(stream.item(&[]));
    }
    (items, end)
}

#[test]
fn items_of_one_event_are_told_before_its_bytes_are_consumed() {
    let event = b"data: {\"content\":\"a\",\"tokens\":[1,2],\"stop\":false}\n\n";
    let mut stream = Stream::new(Options::new(), &Limits::default(), [0u8; 128], [0u8; 0]);
    let mut told = Vec::new();
    let mut consumed = 0;
    while consumed < event.len() {
        let step = stream.step(consumed as u64, &event[consumed..]).unwrap();
        if step.ready {
            assert_eq!(step.consumed, 0, "its bytes are offered again");
            told.push(match stream.item(&event[consumed..]) {
                Item::Text { text, .. } => {
                    // Borrowed from the input: nothing was copied.
                    assert!(event.as_ptr_range().contains(&text.as_ptr()));
                    text.to_owned()
                }
                Item::Token { id, .. } => id.to_string(),
                other => panic!("{other:?}"),
            });
        }
        consumed += step.consumed;
    }
    assert_eq!(told, ["1", "2", "a"]);
    assert_eq!(stream.need(), Need::More);
    assert_eq!((stream.received().ids, stream.is_done()), (2, false));
}

#[test]
fn a_dialect_that_is_named_is_the_only_one_read() {
    let events = [
        (Dialect::OpenAi, r#"{"choices":[{"index":0,"delta":{"content":"o"}}]}"#),
        (Dialect::Completion, r#"{"content":"c","tokens":[],"stop":false}"#),
        (Dialect::Responses, r#"{"type":"response.output_text.delta","delta":"r"}"#),
        (
            Dialect::Messages,
            r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"m"}}"#,
        ),
    ];
    let body: String = events.iter().map(|(_, json)| format!("data: {json}\n\n")).collect();
    for (dialect, _) in events {
        let (items, end) = items(Options::new().dialect(dialect), body.as_bytes());
        assert_eq!((items.len(), end.unwrap().received.unknown), (1, 3), "{dialect:?} {items:?}");
    }
    let (all, end) = items(Options::new(), body.as_bytes());
    assert_eq!((all.len(), end.unwrap().received.unknown), (4, 0));
    let (none, end) = items(Options::new(), b"data: {\"type\":\"new\"}\n\ndata: {\"a\":1}\n\n");
    assert_eq!((none.len(), end.unwrap().received.unknown), (0, 2));
}

#[test]
fn what_finds_no_room_is_told_and_the_rest_goes_on() {
    let long = format!("data: {{\"content\":\"{}\"}}\n\n", "x".repeat(600));
    let escaped = format!("data: {{\"content\":\"{}\",\"stop\":false}}\n\n", "\\n".repeat(65));
    let fine = "data: {\"content\":\"\\n\",\"stop\":true}\n\n";
    let (items, end) = items(Options::new(), (long + &escaped + fine).as_bytes());
    let event = Item::Overflow(Overflow::Event { offset: 0 });
    let text = Item::Overflow(Overflow::Text { need: 65 });
    assert_eq!(items[..2], [format!("{event:?}"), format!("{text:?}")]);
    assert_eq!(items[2], "Text { choice: 0, text: \"\\n\" }");
    let end = end.unwrap();
    assert_eq!((end.outcome, end.received.overflows), (Outcome::Complete, 2));
    // A message that finds no room leaves the error without it.
    let error = "data: {\"error\":{\"code\":7,\"message\":\"a\\nb\"}}\n\n";
    let mut stream = Stream::new(Options::new(), &Limits::default(), [0u8; 64], [0u8; 2]);
    let mut seen = Vec::new();
    visit(&mut stream, 0, error.as_bytes(), |item| match item {
        Item::Error(error) => seen.push(error.to_string()),
        Item::Overflow(overflow) => seen.push(format!("{overflow:?}")),
        _ => {}
    })
    .unwrap();
    assert_eq!(seen, ["Text { need: 3 }", "no message (7)"]);
}

/// A whole answer: its text, reasoning, calls, and why it ended.
fn answer(body: &str) -> (String, String, String, Option<Reason>) {
    let mut answer = Answer::new(body.as_bytes(), [0u8; 64], &Limits::default()).unwrap();
    let (mut said, mut thought, mut calls) = (String::new(), String::new(), String::new());
    let mut reason = None;
    while let Some(item) = answer.next() {
        match item {
            Item::Text { text, .. } => said += text,
            Item::Reasoning { text, .. } => thought += text,
            Item::ToolCall { call, part, .. } => {
                let (ToolPart::Id(text) | ToolPart::Name(text) | ToolPart::Arguments(text)) = part;
                calls += &format!("{call}{text} ");
            }
            Item::Finish { finish, .. } => reason = Some(finish.reason),
            Item::Role { role, .. } => assert_eq!(role, "assistant"),
            other => panic!("{other:?}"),
        }
    }
    (said, thought, calls, reason)
}

#[test]
fn whole_answers_of_each_endpoint_with_thoughts_and_calls() {
    let calls = "0c1 0add 0{\"a\":1} 1c2 1now ";
    let chat = r#"{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"So.","reasoning_content":"Hm.",
        "tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}},{"id":"c2","function":{"name":"now"}}]}}]}"#;
    let responses = r#"{"object":"response","status":"completed","output":[
        {"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]},
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"So."}]},
        {"type":"function_call","call_id":"c1","name":"add","arguments":"{\"a\":1}"},
        {"type":"function_call","call_id":"c2","name":"now","arguments":""}]}"#;
    let messages = r#"{"type":"message","role":"assistant","stop_reason":"tool_use","content":[{"type":"thinking","thinking":"Hm."},
        {"type":"text","text":"So."},{"type":"tool_use","id":"c1","name":"add","input":{"a":1}},{"type":"tool_use","id":"c2","name":"now","input":{}}]}"#;
    let wanted = |reason| ("So.".into(), "Hm.".into(), calls.into(), Some(reason));
    assert_eq!(answer(chat), wanted(Reason::ToolCalls));
    assert_eq!(answer(messages), wanted(Reason::ToolCalls));
    assert_eq!(answer(responses), wanted(Reason::Stop));
    let texts = r#"{"choices":[{"text":"So.","index":0,"finish_reason":"length"}]}"#;
    assert_eq!(answer(texts), ("So.".into(), String::new(), String::new(), Some(Reason::Length)));
    let two = r#"[{"index":0,"content":"So","tokens":[],"stop":true,"stop_type":"limit"},{"index":1,"content":".","stop":true,"stop_type":"eos"}]"#;
    assert_eq!(answer(two), ("So.".into(), String::new(), String::new(), Some(Reason::Stop)));
    assert!(Answer::new(b"7", [0u8; 0], &Limits::default()).is_err());
    assert_eq!(Answer::new(b"[", [0u8; 0], &Limits::default()).unwrap_err().offset, 1);
}
