//! What went wrong in other clients of language models, by their public reports: the input that
//! each implies, at every split.

use laws::llama::{Given, any_chunking};
use laws::split::Ending;
use rocload_core::llama::json::{self, Wanted};
use rocload_core::llama::{Ending as Told, Fault, Options, Outcome, Reason};
use rocload_core::{Error, ErrorKind};

fn given(body: &[u8]) -> Given {
    any_chunking(body, Options::new(), None).unwrap_or_else(|broken| panic!("{broken}"))
}

fn text(given: &Given) -> String {
    given.items.iter().map(|item| &*item.text).collect()
}

#[track_caller]
fn end(given: &Given) -> Told {
    given.items.last().and_then(|item| item.end).unwrap_or_else(|| panic!("no end: {given:?}"))
}

#[track_caller]
fn error(given: &Given) -> &str {
    let errors: Vec<_> = given.items.iter().filter(|item| item.error).collect();
    let [error] = errors[..] else { panic!("one error is wanted: {given:?}") };
    &error.shown
}

/// A chat stream with this between its first text and its end.
fn chat(middle: &str) -> Vec<u8> {
    format!(
        "data: {{\"choices\":[{{\"finish_reason\":null,\"index\":0,\"delta\":{{\"role\":\"assistant\",\"content\":null}}}}]}}\n\n\
         data: {{\"choices\":[{{\"finish_reason\":null,\"index\":0,\"delta\":{{\"content\":\"Hi\"}}}}]}}\n\n\
         {middle}\
         data: {{\"choices\":[{{\"finish_reason\":\"stop\",\"index\":0,\"delta\":{{}}}}]}}\n\n\
         data: [DONE]\n\n"
    )
    .into_bytes()
}

#[test]
fn data_that_is_a_proxys_keep_alive_is_skipped_and_counted() {
    let given = given(&chat("data: : keepalive\n\ndata:\n\ndata\n\n"));
    let told = end(&given);
    assert_eq!((text(&given).as_str(), told.outcome), ("Hi", Outcome::Complete));
    assert_eq!((told.received.skipped, told.received.events), (3, 7));
}

#[test]
fn an_error_field_of_an_old_server_ends_the_stream_with_its_message() {
    let body = b"error: {\"code\":400,\"message\":\"m\"}\n\ndata: [DONE]\n\n";
    let given = given(body);
    assert!(error(&given).contains("code: Some(400), kind: \"\", message: \"m\""));
    assert_eq!(end(&given).outcome, Outcome::Failed);
    // What is no JSON is the message as it stands.
    let plain = any_chunking(b"error: out of luck\n\n", Options::new(), None).unwrap();
    assert!(error(&plain).contains("message: \"out of luck\""));
}

#[test]
fn an_error_inside_a_good_stream_is_told_once_and_nothing_on_top() {
    let error_event = "data: {\"error\":{\"code\":500,\"message\":\"Context size has been exceeded.\",\"type\":\"server_error\"}}\n\n";
    let text_event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";
    for body in [error_event.to_owned(), format!("{text_event}{error_event}")] {
        let given = given(body.as_bytes());
        assert!(error(&given).contains("kind: \"server_error\""));
        assert!(error(&given).contains("Context size has been exceeded."));
        assert_eq!((end(&given).outcome, given.ending), (Outcome::Failed, Ending::Complete));
        assert_eq!(end(&given).received.text_bytes > 0, body.len() > error_event.len());
    }
    // The other endpoints wrap it otherwise, or not at all.
    for event in [
        "event: error\ndata: {\"code\":500,\"message\":\"m\",\"type\":\"server_error\"}\n\n",
        "data: {\"type\":\"error\",\"error\":{\"type\":\"server_error\",\"message\":\"m\"}}\n\n",
        "data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"m\"}\n\n",
        "data: {\"error\":{\"message\":\"m\",\"type\":\"server_error\",\"code\":null}}\n\n",
    ] {
        let given = given(event.as_bytes());
        let shown = error(&given);
        assert!(shown.contains("message: \"m\"") && shown.contains("\"server_error\""), "{shown}");
    }
    assert!(error(&given(b"data: {\"error\":\"just text\"}\n\n")).contains("just text"));
}

#[test]
fn data_that_is_no_json_is_an_error_with_its_place() {
    let good = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\r\n\r\n";
    let given = given(&[&good[..], b": ping\r\n\r\ndata: {\"a\":\r\n\r\n"].concat());
    let fault = json::Fault::End { wanted: Wanted::Value };
    let kind = ErrorKind::Llama(Fault::Data { fault, at: 5 });
    assert_eq!(given.ending, Ending::Failed(Error::new(kind, good.len() as u64)));
    assert_eq!(text(&given), "a");
    let shown = Error::new(kind, 60).to_string();
    assert!(shown.contains("at byte 5 of the event's data"), "{shown}");
    // JSON that is no object is as wrong.
    let number = any_chunking(b"data: 1\n\n", Options::new(), None).unwrap();
    assert_eq!(number.ending, Ending::Failed(Error::new(ErrorKind::Llama(Fault::NotObject), 0)));
}

#[test]
fn an_event_without_its_blank_line_is_pending_unless_asked_otherwise() {
    let last = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}";
    let lenient = Options::new().lenient_eof(true);
    for (body, pending) in [(last.to_owned(), "line"), (format!("{last}\n"), "event")] {
        let strict = given(body.as_bytes());
        let told = end(&strict);
        assert_eq!((told.outcome, told.pending), (Outcome::Truncated, pending));
        assert_eq!(told.received.finish, None);
        let open = any_chunking(body.as_bytes(), lenient, None).unwrap();
        let told = end(&open);
        assert_eq!((told.outcome, told.pending), (Outcome::Complete, "none"));
        assert_eq!(told.received.finish, Some(Reason::Stop));
    }
    let done = any_chunking(b"data: {\"choices\":[]}\n\ndata: [DONE]", lenient, None).unwrap();
    assert!(end(&done).received.done_seen);
    // Half an object counts in neither.
    let half = any_chunking(&last.as_bytes()[..40], lenient, None).unwrap();
    assert_eq!(end(&half).outcome, Outcome::Truncated);
}

#[test]
fn no_choices_are_no_crash() {
    for choices in ["[]", "null"] {
        let usage = format!(
            "data: {{\"choices\":{choices},\"usage\":{{\"prompt_tokens\":14,\"completion_tokens\":3,\"total_tokens\":17,\
             \"prompt_tokens_details\":{{\"cached_tokens\":6}}}}}}\n\n"
        );
        let given = given(&chat(&usage));
        let shown: Vec<_> = given.items.iter().filter(|i| i.shown.starts_with("Usage")).collect();
        assert_eq!(shown.len(), 1, "{given:?}");
        assert_eq!(
            shown[0].shown,
            "Usage(Usage { prompt: Some(14), completion: Some(3), total: Some(17), cached: Some(6) })"
        );
        assert_eq!(text(&given), "Hi");
    }
}

#[test]
fn null_is_absent_and_a_space_is_text() {
    let middle = "data: {\"choices\":[{\"index\":0,\"finish_reason\":null,\"logprobs\":null,\"delta\":{\"role\":null,\"content\":null,\
                  \"reasoning_content\":null,\"tool_calls\":[{\"index\":0,\"id\":null,\"function\":{\"name\":null,\"arguments\":\"{}\"}}]}}],\
                  \"usage\":null,\"timings\":null,\"error\":null}\n\n\
                  data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" \",\"tool_calls\":null}}]}\n\n";
    let given = given(&chat(middle));
    assert_eq!(text(&given), "Hi ");
    let calls: Vec<_> = given.items.iter().filter(|i| i.shown.starts_with("ToolCall")).collect();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].shown, "ToolCall { choice: 0, call: 0, part: Arguments(\"{}\") }");
    assert_eq!(end(&given).outcome, Outcome::Complete);
}

#[test]
fn a_last_event_without_content_is_no_error() {
    let given = given(&chat(""));
    let shown: Vec<_> = given.items.iter().map(|item| item.shown.as_str()).collect();
    assert_eq!(
        shown[..2],
        ["Role { choice: 0, role: \"assistant\" }", "Text { choice: 0, text: \"Hi\" }"]
    );
    assert!(
        shown[2].starts_with("Finish { choice: 0, finish: Finish { reason: Stop, word: \"stop\"")
    );
    assert_eq!(shown.len(), 4);
}

#[test]
fn a_finish_reason_at_a_clean_end_counts_as_complete_without_the_mark() {
    let whole = chat("");
    let without_mark = &whole[..whole.len() - "data: [DONE]\n\n".len()];
    let told = end(&given(without_mark));
    assert_eq!((told.outcome, told.received.done_seen), (Outcome::Complete, false));
    assert!(end(&given(&whole)).received.done_seen);
    // One of two answers is not all.
    let other = "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}}]}\n\n";
    let both = [other.as_bytes(), without_mark].concat();
    assert_eq!(end(&given(&both)).outcome, Outcome::Truncated);
}

#[test]
fn a_stream_that_is_cut_tells_what_came() {
    let whole = chat("");
    let cut = &whole[..whole.len() - 60];
    let given = given(cut);
    let told = end(&given);
    assert_eq!(told.outcome, Outcome::Truncated);
    assert_eq!((told.received.text_bytes, told.received.events), (2, 2));
    assert_eq!((told.received.finish, told.received.done_seen), (None, false));
    assert_eq!(given.ending, Ending::Pending("stream"));
    assert!(told.to_string().starts_with("the stream ends before its end mark after 2 events"));
}

#[test]
fn nothing_behind_the_end_mark_is_read() {
    for (mark, finish) in [
        ("data: [DONE]\n\n", None),
        ("data: {\"content\":\"\",\"stop\":true,\"stop_type\":\"eos\"}\n\n", Some(Reason::Stop)),
        ("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", None),
        (
            "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n",
            Some(Reason::Stop),
        ),
        (
            "data: {\"type\":\"response.incomplete\",\"response\":{\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}}\n\n",
            Some(Reason::Length),
        ),
    ] {
        let given = given(format!("{mark}data: not json\n\n").as_bytes());
        let told = end(&given);
        assert_eq!((told.outcome, told.received.done_seen), (Outcome::Complete, true), "{mark}");
        assert_eq!(told.received.finish, finish, "{mark}");
    }
}

#[test]
fn token_ids_and_their_traps() {
    let body = "data: {\"index\":0,\"content\":\"\",\"tokens\":[0],\"stop\":false,\"tokens_predicted\":0,\"prompt_progress\":{\"total\":3,\"cache\":0,\"processed\":3,\"time_ms\":7}}\n\n\
                data: {\"index\":0,\"content\":\"a\",\"tokens\":[5],\"stop\":false,\"tokens_predicted\":1}\n\n\
                data: {\"index\":0,\"content\":\"\u{1f600}\",\"tokens\":[131],\"stop\":false,\"tokens_predicted\":5}\n\n\
                data: {\"index\":0,\"content\":\"\",\"tokens\":[2],\"stop\":false,\"tokens_predicted\":6}\n\n\
                data: {\"index\":0,\"content\":\"\",\"tokens\":[],\"stop\":true,\"stop_type\":\"word\",\"stopping_word\":\"\\n\",\"truncated\":true,\
                \"tokens_predicted\":6,\"tokens_evaluated\":3}\n\n";
    let given = given(body.as_bytes());
    let shown: Vec<_> = given.items.iter().map(|item| item.shown.as_str()).collect();
    assert!(shown[0].starts_with("Progress(Progress { total: Some(3)"), "{shown:?}");
    // The id of a progress event is none; that of the token comes before its text, that of the
    // end of the text without any.
    assert_eq!(
        shown[1..6],
        [
            "Token { choice: 0, id: 5 }",
            "Text { choice: 0, text: \"a\" }",
            "Token { choice: 0, id: 131 }",
            "Text { choice: 0, text: \"\u{1f600}\" }",
            "Token { choice: 0, id: 2 }",
        ]
    );
    assert_eq!(
        shown[6],
        "Finish { choice: 0, finish: Finish { reason: Stop, word: \"word\", stop: Some(\"\\n\"), truncated: true } }"
    );
    let told = end(&given);
    assert_eq!((told.received.ids, told.received.lost_ids()), (3, 3));
    assert!(told.received.done_seen);
}

#[test]
fn every_answer_of_several_is_waited_for() {
    let part = |index: u32, stop: bool| {
        format!("data: {{\"index\":{index},\"content\":\"x\",\"tokens\":[],\"stop\":{stop}}}\n\n")
    };
    let body = [part(0, false), part(0, true), part(1, false), part(1, true)].concat();
    let one = given(body.as_bytes());
    assert_eq!((text(&one).as_str(), end(&one).outcome), ("xx", Outcome::Complete));
    let both = any_chunking(body.as_bytes(), Options::new().answers(2), None).unwrap();
    assert_eq!((text(&both).as_str(), end(&both).outcome), ("xxxx", Outcome::Complete));
    let cut = any_chunking(&body.as_bytes()[..body.len() - 60], Options::new().answers(2), None);
    assert_eq!(end(&cut.unwrap()).outcome, Outcome::Truncated);
}

#[test]
fn tool_calls_are_told_part_by_part_at_each_endpoint() {
    let chat = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"add\",\"arguments\":\"\"}}]}}]}\n\n\
                data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"{\\\"a\\\":1}\"}}]}}]}\n\n\
                data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    let messages = "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"add\",\"input\":{}}}\n\n\
                    data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":1}\"}}\n\n\
                    data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":3}}\n\n\
                    data: {\"type\":\"message_stop\"}\n\n";
    let responses = "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"add\",\"arguments\":\"\"}}\n\n\
                     data: {\"type\":\"response.function_call_arguments.delta\",\"delta\":\"{\\\"a\\\":1}\",\"item_id\":\"c1\"}\n\n\
                     data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n";
    for (body, call) in [(chat, 1), (messages, 0), (responses, 0)] {
        let given = given(body.as_bytes());
        let shown: Vec<_> = given.items.iter().map(|item| item.shown.as_str()).take(3).collect();
        let part = |part: &str| format!("ToolCall {{ choice: 0, call: {call}, part: {part} }}");
        let wanted =
            [part("Id(\"c1\")"), part("Name(\"add\")"), part("Arguments(\"{\\\"a\\\":1}\")")];
        assert_eq!(shown, wanted, "{body}");
        assert_eq!(end(&given).outcome, Outcome::Complete);
    }
}
