//! The laws of llama-server's protocol: real answers, generated ones, and requests.

use std::fs;
use std::path::Path;

use laws::llama::{answer_is_finite, any_chunking};
use laws::split::Ending;
use proptest::collection::vec;
use proptest::prelude::*;
use rocload_core::llama::request::{Bias, Chat, Completion, Flavour, Message, Prompt, Request};
use rocload_core::llama::{Options, Outcome};
use rocload_fixtures::{fixtures_dir, shared_data_or_skip};
use serde_json::{Map, Value, json};

/// The body of a captured response, its chunks joined where there are any, by a reader that
/// shares nothing with the core's.
fn body(response: &[u8]) -> Vec<u8> {
    let head = response.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
    let (head, mut rest) = response.split_at(head);
    let head = String::from_utf8_lossy(head).to_lowercase();
    let size = |rest: &[u8]| {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let digits = core::str::from_utf8(&rest[..end]).ok()?;
        Some((usize::from_str_radix(digits, 16).ok()?, end + 2))
    };
    // Some captures were joined already when they were made.
    if !head.contains("transfer-encoding: chunked") || size(rest).is_none() {
        return rest.to_vec();
    }
    let mut body = Vec::new();
    while let Some((len, at)) = size(rest) {
        if len == 0 {
            break;
        }
        let end = rest.len().min(at + len);
        body.extend_from_slice(&rest[at..end]);
        rest = rest.get(end + 2..).unwrap_or_default();
    }
    body
}

fn captures(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "http"))
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap())
        })
        .collect();
    found.sort();
    assert!(!found.is_empty(), "{}: no captures", folder.display());
    found
}

/// Each at the ruling's cuts; what ended otherwise than complete is named.
fn hold(folder: &Path) -> Vec<String> {
    let mut others = Vec::new();
    for (name, response) in captures(folder) {
        let body = body(&response);
        answer_is_finite(&body).unwrap_or_else(|broken| panic!("{name}: {broken}"));
        if !String::from_utf8_lossy(&response).contains("text/event-stream") {
            continue;
        }
        let given = any_chunking(&body, Options::new(), None);
        let given = given.unwrap_or_else(|broken| panic!("{name}: {broken}"));
        if let Ending::Failed(error) = given.ending {
            others.push(format!("{name} {error}"));
            continue;
        }
        let end = given.items.last().and_then(|item| item.end).unwrap();
        assert_eq!(end.received.unknown, 0, "{name}");
        assert!(end.received.text_bytes > 0, "{name}");
        if end.outcome != Outcome::Complete {
            others.push(format!("{name} {:?}", end.outcome));
        }
    }
    others
}

#[test]
fn committed_captures_give_the_same_items_at_every_cut() {
    let others = hold(&fixtures_dir().join("sse"));
    assert_eq!(others, ["chat-cut.http Truncated", "chat-error-midstream.http Failed"]);
}

#[test]
fn real_captures_give_the_same_items_at_every_cut() {
    let Some(data) = shared_data_or_skip("real_captures_give_the_same_items_at_every_cut") else {
        return;
    };
    assert_eq!(hold(&data.join("sse/captured")), ["sigterm_midstream.http Truncated"]);
}

#[test]
fn more_real_captures_give_the_same_items_at_every_cut() {
    let name = "more_real_captures_give_the_same_items_at_every_cut";
    let Some(data) = shared_data_or_skip(name) else { return };
    assert_eq!(
        hold(&data.join("sse/llama-server")),
        [
            // Its middle was cut out of it.
            "abort-SIGKILL-midstream.http bad json: `c` where `:` is wanted, at byte 79 of the event's data (at offset 19733)",
            "err-midstream-kv-full-1.http Failed",
            "err-midstream-kv-full-2.http Failed",
        ]
    );
}

/// Events that are nearly those of a server.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let json = prop::sample::select(vec![
        r#"{"choices":[{"index":0,"delta":{"content":"a\n\ud83d\ude00"}}]}"#,
        r#"{"choices":[{"delta":{"role":"assistant","content":null},"index":1,"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}],"timings":{"prompt_ms":1.5}}"#,
        r#"{"choices":[{"index":0,"text":"t","logprobs":{"content":[{"id":5},{"id":"x"}]}}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":1}}"#,
        r#"{"content":"x","tokens":[1,2],"stop":false,"tokens_predicted":2}"#,
        r#"{"content":"\u00e9","tokens":[0],"prompt_progress":{"total":1}}"#,
        r#"{"content":"","stop":true,"stop_type":"word","stopping_word":"\t","tokens_evaluated":1}"#,
        r#"{"type":"response.output_text.delta","delta":"r"}"#,
        r#"{"type":"response.output_item.added","item":{"type":"reasoning","content":[{"text":"q"}]}}"#,
        r#"{"type":"response.failed","response":{"error":{"code":"x","message":"\"m\""}}}"#,
        r#"{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"h"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":"s\\"}}"#,
        r#"{"type":"message_stop"}"#,
        r#"{"error":{"message":"m\n","type":"t","code":4}}"#,
        r#"{"unknown":[[],{}]}"#,
        "[DONE]",
        ": keep",
        "",
        "[]",
        "{\"a\":",
        "1",
    ]);
    let line = prop_oneof![
        8 => json.prop_map(|json| format!("data: {json}").into_bytes()),
        1 => Just(b": ping".to_vec()),
        1 => Just(b"event: error".to_vec()),
        1 => Just(b"error: {\"message\":\"old\"}".to_vec()),
        1 => vec(any::<u8>(), 0..8),
    ];
    let end = prop::sample::select(vec!["\n\n", "\n\n", "\r\n\r\n", "\r\r", "\n", "\r\n", "\r"]);
    vec((line, end), 0..10).prop_map(|lines| {
        lines.into_iter().flat_map(|(line, end)| [line, end.as_bytes().to_vec()].concat()).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rocload_fixtures::share(1000), ..ProptestConfig::default() })]

    #[test]
    fn any_stream_gives_the_same_items_in_any_chunks(
        body in stream(), lenient in any::<bool>(), answers in 1..3u32, seed in any::<u64>(),
    ) {
        let options = Options::new().lenient_eof(lenient).answers(answers);
        let given = any_chunking(&body, options, Some(seed));
        given.map_err(|broken| TestCaseError::fail(broken.to_string()))?;
        answer_is_finite(&body).map_err(|broken| TestCaseError::fail(broken.to_string()))?;
    }
}

/// A value for each field of the sampling, or none.
#[derive(Debug, Clone)]
struct Choices {
    floats: [Option<f64>; 4],
    wholes: [Option<i64>; 4],
    flags: [Option<bool>; 3],
    stop: Option<Vec<String>>,
    biases: Option<Vec<(i64, Option<f64>)>>,
    grammar: Option<String>,
    extra: Option<Map<String, Value>>,
}

fn choices() -> impl Strategy<Value = Choices> {
    let float = || prop::option::of(prop_oneof![Just(0.0), -1e6..1e6f64]);
    let whole = || prop::option::of(any::<i64>());
    let flag = || prop::option::of(any::<bool>());
    let own = prop::collection::btree_map(
        "x_[a-z\"\\\\é]{1,4}",
        any::<i32>().prop_map(Value::from),
        0..4,
    );
    (
        [float(), float(), float(), float()],
        [whole(), whole(), whole(), whole()],
        [flag(), flag(), flag()],
        prop::option::of(vec(".{0,6}", 0..3)),
        prop::option::of(vec((any::<i64>(), prop::option::of(-100.0..100.0f64)), 0..3)),
        prop::option::of(".{0,20}"),
        prop::option::of(own.prop_map(|map| map.into_iter().collect())),
    )
        .prop_map(|(floats, wholes, flags, stop, biases, grammar, extra)| Choices {
            floats,
            wholes,
            flags,
            stop,
            biases,
            grammar,
            extra,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rocload_fixtures::share(1000), ..ProptestConfig::default() })]

    #[test]
    fn a_request_reads_back_as_what_was_asked_for(
        chosen in choices(),
        said in vec(("[a-z]{1,6}", ".{0,40}"), 0..4),
        model in prop::option::of(".{0,10}"),
        openai in any::<bool>(), stream in any::<bool>(), usage in prop::option::of(any::<bool>()),
    ) {
        let stop: Option<Vec<&str>> = chosen.stop.as_ref().map(|stop| stop.iter().map(|s| &**s).collect());
        let biases: Option<Vec<(i64, Bias)>> = chosen.biases.as_ref().map(|biases| {
            biases.iter().map(|&(id, add)| (id, add.map_or(Bias::Never, Bias::Add))).collect()
        });
        let extra = chosen.extra.as_ref().map(|extra| serde_json::to_string(extra).unwrap());
        let messages: Vec<Message<'_>> = said.iter().map(|(role, text)| Message::new(role, text)).collect();

        let mut chat = Chat::new(&messages);
        let [temperature, top_p, repeat_penalty, mirostat_tau] = chosen.floats;
        let [top_k, seed, n_predict, id_slot] = chosen.wholes;
        let [ignore_eos, cache_prompt, return_progress] = chosen.flags;
        chat.sampling.temperature = temperature;
        chat.sampling.top_p = top_p;
        chat.sampling.repeat_penalty = repeat_penalty;
        chat.sampling.mirostat_tau = mirostat_tau;
        chat.sampling.top_k = top_k;
        chat.sampling.seed = seed;
        chat.sampling.n_predict = n_predict;
        chat.sampling.id_slot = id_slot;
        chat.sampling.ignore_eos = ignore_eos;
        chat.sampling.cache_prompt = cache_prompt;
        chat.sampling.return_progress = return_progress;
        chat.sampling.stop = stop.as_deref();
        chat.sampling.logit_bias = biases.as_deref();
        chat.sampling.grammar = chosen.grammar.as_deref();
        chat.model = model.as_deref();
        chat.stream = stream;
        chat.include_usage = usage;
        chat.extra = extra.as_deref();

        let mut wanted = chosen.extra.clone().unwrap_or_default();
        let mut want = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                wanted.insert(name.into(), value);
            }
        };
        want("temperature", temperature.map(Value::from));
        want("top_p", top_p.map(Value::from));
        want("repeat_penalty", repeat_penalty.map(Value::from));
        want("mirostat_tau", mirostat_tau.map(Value::from));
        want("top_k", top_k.map(Value::from));
        want("seed", seed.map(Value::from));
        want("id_slot", id_slot.map(Value::from));
        want("ignore_eos", ignore_eos.map(Value::from));
        want("cache_prompt", cache_prompt.map(Value::from));
        want("return_progress", return_progress.map(Value::from));
        want("stop", stop.as_ref().map(|stop| json!(stop)));
        want("grammar", chosen.grammar.as_ref().map(|grammar| json!(grammar)));
        want("model", model.as_ref().map(|model| json!(model)));
        want("stream", Some(json!(stream)));
        want("stream_options", usage.map(|usage| json!({ "include_usage": usage })));
        want("logit_bias", chosen.biases.as_ref().map(|biases| {
            biases.iter().map(|(id, add)| json!([id, add.map_or(json!(false), Value::from)])).collect()
        }));
        let shared = wanted.clone();
        wanted.insert("max_tokens".into(), json!(n_predict));
        wanted.insert("messages".into(), said.iter().map(|(role, text)| json!({ "role": role, "content": text })).collect());
        wanted.retain(|_, value| !value.is_null());
        let body: Value = serde_json::from_slice(&chat.to_vec().unwrap()).unwrap();
        prop_assert_eq!(body, Value::Object(wanted));

        let prompt = said.first().map_or("", |(_, text)| text);
        let mut completion = Completion::new(Prompt::Text(prompt));
        completion.flavour = if openai { Flavour::OpenAi } else { Flavour::Native };
        completion.sampling = chat.sampling;
        completion.model = chat.model;
        completion.stream = stream;
        completion.include_usage = usage;
        completion.extra = chat.extra;
        let mut wanted = shared;
        wanted.insert("prompt".into(), json!(prompt));
        let max_tokens = if openai { "max_tokens" } else { "n_predict" };
        wanted.insert(max_tokens.into(), json!(n_predict));
        wanted.retain(|_, value| !value.is_null());
        let body: Value = serde_json::from_slice(&completion.to_vec().unwrap()).unwrap();
        prop_assert_eq!(body, Value::Object(wanted));
    }
}
