//! Requests that the core writes, sent to a real llama-server where `ROCLOAD_LLAMA_SERVER` names
//! one: it ignores names that it does not know, so what it took is read from its answers.
#![cfg(all(unix, feature = "blocking"))]

use std::env;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rocload::Limits;
use rocload::blocking::Client;
use rocload::http::{Error, Readiness, Request as HttpRequest};
use rocload::llama::json::{self, Value};
use rocload::llama::request::{
    ApplyTemplate, Bias, Chat, Completion, Detokenize, Embeddings, Input, Message, Prompt, Request,
    Sampling, Tokenize, ToolCall,
};
use rocload::llama::{
    Answer, Item, Options, StopIds, Stream, Tokens, detokenized, stop_string, templated,
};
use rocload_fixtures::fixtures_dir;

const CEILING: Duration = Duration::from_secs(120);

struct Server {
    child: Child,
    client: Client,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start(test: &str) -> Option<Server> {
        let Some(binary) = env::var_os("ROCLOAD_LLAMA_SERVER").filter(|path| !path.is_empty())
        else {
            eprintln!("{test}: skipped: no llama-server");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("llama.sock");
        let child = Command::new(binary)
            .arg("--model")
            .arg(fixtures_dir().join("gguf/tiny-llama.gguf"))
            .arg("--host")
            .arg(&socket)
            .args(["--parallel", "2", "--ctx-size", "512", "--threads", "1", "--no-ui"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Server { child, client: Client::new(socket.into()), _folder: folder };
        let started = Instant::now();
        while server.client.health() != Readiness::Ready {
            assert!(started.elapsed() < CEILING);
            thread::sleep(Duration::from_millis(25));
        }
        Some(server)
    }

    fn post(&self, request: &impl Request) -> Vec<u8> {
        let body = request.to_vec().unwrap();
        let answer = self.client.fetch(&HttpRequest::post(request.path(), &body));
        answer.unwrap_or_else(|error| panic!("{}: {error}", request.path())).body
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Every field that a server tells again, with a value that is not its default.
fn sampling() -> Sampling<'static> {
    Sampling {
        temperature: Some(0.5),
        dynatemp_range: Some(0.25),
        dynatemp_exponent: Some(1.5),
        top_k: Some(17),
        top_p: Some(0.75),
        min_p: Some(0.125),
        top_n_sigma: Some(2.5),
        typical_p: Some(0.875),
        xtc_probability: Some(0.25),
        xtc_threshold: Some(0.375),
        repeat_penalty: Some(1.25),
        repeat_last_n: Some(7),
        presence_penalty: Some(0.5),
        frequency_penalty: Some(0.25),
        dry_multiplier: Some(0.5),
        dry_base: Some(1.5),
        dry_allowed_length: Some(3),
        dry_penalty_last_n: Some(9),
        dry_sequence_breakers: Some(&["\n", "x\""]),
        mirostat: Some(0),
        mirostat_tau: Some(4.5),
        mirostat_eta: Some(0.25),
        samplers: Some(&["top_k", "temperature"]),
        min_keep: Some(2),
        seed: Some(11),
        n_predict: Some(4),
        n_keep: Some(1),
        stop: Some(&["never \"this\""]),
        logit_bias: Some(&[(65, Bias::Add(1.5)), (66, Bias::Never)]),
        grammar: Some("root ::= [a-z]+"),
        post_sampling_probs: Some(true),
        timings_per_token: Some(true),
        cache_prompt: Some(false),
        id_slot: Some(1),
        return_tokens: Some(true),
        sse_ping_interval: Some(5),
        t_max_predict_ms: Some(60_000),
        ..Sampling::default()
    }
}

#[test]
fn a_real_server_takes_every_field_of_the_sampling() {
    let Some(server) = Server::start("a_real_server_takes_every_field_of_the_sampling") else {
        return;
    };
    let mut completion = Completion::new(Prompt::Text("hello \"é\"\n"));
    completion.sampling = sampling();
    completion.n_probs = Some(2);
    completion.extra = Some(r#"{"n_indent": 0}"#);
    let body = server.post(&completion);
    let answer = json::check(&body, 0, &Limits::default()).unwrap();
    let settings = answer.get("generation_settings").unwrap();
    let number = |name: &str| {
        let number = settings.get(name).and_then(Value::as_f64);
        number.unwrap_or_else(|| panic!("no {name}: {}", String::from_utf8_lossy(settings.raw())))
    };
    // All exact in 32 bits.
    for (name, wanted) in [
        ("temperature", 0.5),
        ("dynatemp_range", 0.25),
        ("dynatemp_exponent", 1.5),
        ("top_k", 17.0),
        ("top_p", 0.75),
        ("min_p", 0.125),
        ("top_n_sigma", 2.5),
        ("typical_p", 0.875),
        ("xtc_probability", 0.25),
        ("xtc_threshold", 0.375),
        ("repeat_penalty", 1.25),
        ("repeat_last_n", 7.0),
        ("presence_penalty", 0.5),
        ("frequency_penalty", 0.25),
        ("dry_multiplier", 0.5),
        ("dry_base", 1.5),
        ("dry_allowed_length", 3.0),
        ("dry_penalty_last_n", 9.0),
        ("mirostat", 0.0),
        ("mirostat_tau", 4.5),
        ("mirostat_eta", 0.25),
        ("min_keep", 2.0),
        ("seed", 11.0),
        ("n_predict", 4.0),
        ("n_keep", 1.0),
        ("n_probs", 2.0),
    ] {
        assert_eq!(number(name), wanted, "{name}");
    }
    let strings = |name: &str| -> Vec<String> {
        let values = settings.get(name).unwrap().elements();
        values.map(|value| value.as_str().unwrap().to_string()).collect()
    };
    assert_eq!(strings("stop"), ["never \"this\""]);
    assert_eq!(strings("dry_sequence_breakers"), ["\n", "x\""]);
    assert_eq!(strings("samplers"), ["top_k", "temperature"]);
    for flag in ["post_sampling_probs", "timings_per_token"] {
        assert_eq!(settings.get(flag).and_then(Value::as_bool), Some(true), "{flag}");
    }
    assert!(settings.get("grammar").unwrap().as_str().unwrap().to_string().contains("[a-z]"));
    assert_eq!(settings.get("logit_bias").unwrap().elements().count(), 2);
    assert_eq!(answer.get("id_slot").and_then(Value::as_i64), Some(1));
    assert!(answer.get("prompt").unwrap().as_str().unwrap().to_string().ends_with("hello \"é\"\n"));

    let (mut ids, mut text) = (0, String::new());
    let mut items = Answer::new(&body, Vec::new(), &Limits::default()).unwrap();
    while let Some(item) = items.next() {
        match item {
            Item::Token { .. } => ids += 1,
            Item::Text { text: more, .. } => text += more,
            _ => {}
        }
    }
    assert!(ids > 0 && text.bytes().all(|byte| byte.is_ascii_lowercase()), "{ids} {text}");
}

#[test]
fn a_real_server_takes_the_other_requests() {
    let Some(server) = Server::start("a_real_server_takes_the_other_requests") else { return };
    let limits = Limits::default();
    let calls = [ToolCall { id: "c1", name: "add", arguments: "{\"a\":1}" }];
    let messages = [
        Message::system("Be \"brief\"."),
        Message::user("1+1?"),
        Message::calls(&calls),
        Message::tool("c1", "2"),
        Message::user("So?"),
    ];
    let mut chat = Chat::new(&messages);
    chat.sampling = Sampling { grammar: None, n_predict: Some(3), n: Some(2), ..sampling() };
    chat.sampling.id_slot = None;
    chat.logprobs = Some(true);
    chat.top_logprobs = Some(1);
    chat.reasoning_format = Some("none");
    chat.model = Some("tiny");
    let body = server.post(&chat);
    let mut answer = Answer::new(&body, Vec::new(), &limits).unwrap();
    let (mut choices, mut ids) = ([false; 2], 0);
    while let Some(item) = answer.next() {
        match item {
            Item::Finish { choice, .. } => choices[choice as usize] = true,
            Item::Token { .. } => ids += 1,
            _ => {}
        }
    }
    assert_eq!((choices, ids > 2), ([true; 2], true));

    let request = Tokenize { with_pieces: Some(true), ..Tokenize::new("hé") };
    let body = server.post(&request);
    let tokens: Vec<i64> = Tokens::read(&body, &limits).unwrap().map(|token| token.id).collect();
    let body = server.post(&Detokenize { tokens: &tokens });
    assert!(detokenized(&body, &limits).unwrap().to_string().contains("hé"));
    let body = server.post(&ApplyTemplate { messages: &messages[..2], extra: None });
    assert!(templated(&body, &limits).unwrap().to_string().contains("Be \"brief\"."));

    // Not started for embeddings, it understands the request and says so.
    let request = Embeddings::new(Input::Text("a"));
    let body = request.to_vec().unwrap();
    let error = server.client.fetch(&HttpRequest::post(request.path(), &body)).unwrap_err();
    let Error::Status(error) = error else { panic!("{error}") };
    assert_eq!(error.status, 501);
}

#[test]
fn a_real_servers_answer_is_stopped_at_a_token() {
    let Some(server) = Server::start("a_real_servers_answer_is_stopped_at_a_token") else { return };
    let limits = Limits::default();
    let mut completion = Completion::new(Prompt::Text("hello"));
    completion.sampling.temperature = Some(0.0);
    completion.sampling.n_predict = Some(24);
    completion.sampling.ignore_eos = Some(true);
    completion.sampling.return_tokens = Some(true);
    completion.sampling.cache_prompt = Some(false);
    let body = server.post(&completion);
    let mut answer = Answer::new(&body, Vec::new(), &limits).unwrap();
    let mut ids = Vec::new();
    while let Some(item) = answer.next() {
        if let Item::Token { id, .. } = item {
            ids.push(id);
        }
    }
    assert_eq!(ids.len(), 24);
    let stop = ids[10];
    let first = ids.iter().position(|id| *id == stop).unwrap();

    // By watching ids: the stream is dropped there.
    completion.stream = true;
    let body = completion.to_vec().unwrap();
    let machine: Stream<Vec<u8>> = Stream::new(Options::new(), &limits, Vec::new(), Vec::new());
    let request = HttpRequest::post(completion.path(), &body);
    let mut stream = server.client.stream(&request, machine).unwrap();
    let unused = [-5, stop];
    let mut watch = StopIds::new(&unused);
    let seen = loop {
        let item = stream.next().unwrap().expect("the token comes before the end");
        if let Some(seen) = watch.see(&item) {
            break seen;
        }
    };
    assert_eq!((seen.index, seen.id, seen.choice), (1, stop, 0));
    assert!(seen.before <= first as u64, "{seen:?} {first}");
    drop(stream);
    assert!(server.client.wait_idle(CEILING).unwrap());

    // By its text: the server stops itself.
    let body = server.post(&Detokenize { tokens: &[stop] });
    let Some(text) = stop_string(detokenized(&body, &limits).unwrap()) else { return };
    let text = text.to_string();
    let stops = [text.as_str()];
    completion.stream = false;
    completion.sampling.stop = Some(&stops);
    let body = server.post(&completion);
    let mut answer = Answer::new(&body, Vec::new(), &limits).unwrap();
    let mut word = None;
    while let Some(item) = answer.next() {
        match item {
            Item::Finish { finish, .. } => word = finish.stop.map(str::to_owned),
            Item::Text { text: said, .. } => assert!(!said.contains(&text), "{said}"),
            _ => {}
        }
    }
    assert_eq!(word.as_deref(), Some(&*text));
}
