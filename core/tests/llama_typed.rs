//! The owned values of the feature `serde` and the readers without an allocator say the same of
//! every capture.
#![cfg(feature = "serde")]

use std::fs;
use std::path::Path;

use rocload_core::llama::{self, Answer, Item, Options, Reason, Stream, ToolPart, typed};
use rocload_core::{Limits, sse, visit};
use rocload_fixtures::{fixtures_dir, shared_data_or_skip};

/// What both are compared by.
#[derive(Debug, Clone, PartialEq, Default)]
struct Said {
    text: String,
    roles: Vec<String>,
    reasoning: String,
    calls: String,
    ids: Vec<i64>,
    finishes: Vec<(u32, Reason)>,
    prompt: Option<u64>,
    completion: Option<u64>,
    timings: Vec<(Option<u64>, Option<f64>)>,
    progress: usize,
}

impl Said {
    fn item(&mut self, item: &Item<'_>) {
        match *item {
            Item::Role { role, .. } => self.roles.push(role.into()),
            Item::Text { choice, text } => self.text += &format!("{choice}{text}"),
            Item::Reasoning { text, .. } => self.reasoning += text,
            Item::ToolCall { part, .. } => match part {
                ToolPart::Id(text) | ToolPart::Name(text) | ToolPart::Arguments(text) => {
                    self.calls += text;
                }
            },
            Item::Token { id, .. } => self.ids.push(id),
            Item::Finish { choice, finish } => self.finishes.push((choice, finish.reason)),
            Item::Usage(usage) => (self.prompt, self.completion) = (usage.prompt, usage.completion),
            Item::Timings(timings) => self.timings.push((timings.predicted_n, timings.prompt_ms)),
            Item::Progress(_) => self.progress += 1,
            _ => {}
        }
    }

    fn text(&mut self, choice: u32, text: &str) {
        if !text.is_empty() {
            self.text += &format!("{choice}{text}");
        }
    }

    fn message(&mut self, choice: u32, message: &typed::ChatMessage) {
        self.roles.extend(message.role.clone());
        self.text(choice, message.content.as_deref().unwrap_or_default());
        self.reasoning += message.reasoning_content.as_deref().unwrap_or_default();
        for call in &message.tool_calls {
            for part in [&call.id, &call.function.name, &call.function.arguments] {
                self.calls += part.as_deref().unwrap_or_default();
            }
        }
    }

    fn finish(&mut self, choice: u32, word: Option<&str>) {
        self.finishes.extend(word.map(|word| (choice, Reason::from_word(word))));
    }

    fn logprobs(&mut self, logprobs: Option<&typed::Logprobs>) {
        let content = logprobs.map_or(&[][..], |logprobs| &logprobs.content);
        self.ids.extend(content.iter().filter_map(|token| token.id));
    }

    fn counts(&mut self, usage: Option<typed::Usage>, timings: Option<typed::Timings>) {
        if let Some(usage) = usage {
            (self.prompt, self.completion) = (usage.prompt_tokens, usage.completion_tokens);
        }
        self.timings.extend(timings.map(|timings| (timings.predicted_n, timings.prompt_ms)));
    }

    /// One JSON text of one of the three endpoints; false for another.
    fn typed(&mut self, json: &str, whole: bool) -> bool {
        if json.contains("\"object\":\"text_completion\"") {
            let chunk: typed::TextCompletion = serde_json::from_str(json).unwrap();
            for choice in &chunk.choices {
                self.logprobs(choice.logprobs.as_ref());
                self.text(choice.index, &choice.text);
                self.finish(choice.index, choice.finish_reason.as_deref());
            }
            self.counts(chunk.usage, chunk.timings);
        } else if json.contains("\"object\":\"chat.completion") && whole {
            let chat: typed::Chat = serde_json::from_str(json).unwrap();
            for choice in &chat.choices {
                self.logprobs(choice.logprobs.as_ref());
                self.message(choice.index, &choice.message);
                self.finish(choice.index, choice.finish_reason.as_deref());
            }
            self.counts(chat.usage, chat.timings);
        } else if json.contains("\"object\":\"chat.completion") {
            let chunk: typed::ChatChunk = serde_json::from_str(json).unwrap();
            for choice in &chunk.choices {
                self.logprobs(choice.logprobs.as_ref());
                self.message(choice.index, &choice.delta);
                self.finish(choice.index, choice.finish_reason.as_deref());
            }
            self.counts(chunk.usage, chunk.timings);
            self.progress += usize::from(chunk.prompt_progress.is_some());
        } else if json.contains("\"stop\":") && json.contains("\"content\":") {
            let list = json.starts_with('[');
            let chunks: Vec<typed::Completion> = match list {
                true => serde_json::from_str(json).unwrap(),
                false => vec![serde_json::from_str(json).unwrap()],
            };
            for chunk in chunks {
                self.ids.extend(chunk.ids());
                self.text(chunk.index, &chunk.content);
                if chunk.stop {
                    self.finish(chunk.index, chunk.stop_type.as_deref());
                    if chunk.tokens_evaluated.is_some() && chunk.tokens_predicted.is_some() {
                        self.prompt = chunk.tokens_evaluated;
                        self.completion = chunk.tokens_predicted;
                    }
                }
                self.counts(None, chunk.timings);
                self.progress += usize::from(chunk.prompt_progress.is_some());
            }
        } else {
            return false;
        }
        true
    }
}

/// The body of a capture, from the response machine, or what stands behind the head where the
/// chunks were joined already.
fn body(response: &[u8]) -> Vec<u8> {
    use rocload_core::http::{Item, Method, Response};
    let mut machine = Response::new(Method::Get, &Limits::default(), Vec::new());
    let mut body = Vec::new();
    let read = visit(&mut machine, 0, response, |item| {
        if let Item::Body(part) = item {
            body.extend_from_slice(part);
        }
    });
    let head = response.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    if read.is_err() { response[head..].to_vec() } else { body }
}

/// Whether the capture could be compared.
fn agree(name: &str, response: &[u8]) -> bool {
    let body = body(response);
    let limits = Limits::default();
    let (mut ours, mut theirs) = (Said::default(), Said::default());
    let mut known = true;
    if String::from_utf8_lossy(response).contains("text/event-stream") {
        let mut stream = Stream::new(Options::new(), &limits, Vec::new(), Vec::new());
        if visit(&mut stream, 0, &body, |item| ours.item(&item)).is_err() {
            return false;
        }
        let mut parser = sse::Parser::new(&limits, Vec::new());
        visit(&mut parser, 0, &body, |item| {
            if let sse::Item::Event(event) = item
                && event.data != b"[DONE]"
            {
                let data = event.data_str().unwrap();
                let error = serde_json::from_str::<typed::ErrorBody>(data).is_ok();
                known &= error || theirs.typed(data, false);
            }
        })
        .unwrap();
    } else {
        let Ok(json) = core::str::from_utf8(&body) else { return false };
        known = theirs.typed(json, true);
        let Ok(mut answer) = Answer::new(&body, Vec::new(), &limits) else { return false };
        while let Some(item) = answer.next() {
            ours.item(&item);
        }
    }
    if known {
        assert_eq!(ours, theirs, "{name}");
    }
    known
}

fn responses(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "http"));
    files.map(|path| (path.display().to_string(), fs::read(path).unwrap())).collect()
}

fn all_agree(folder: &Path) -> usize {
    responses(folder).iter().filter(|(name, response)| agree(name, response)).count()
}

#[test]
fn both_readers_say_the_same_of_committed_captures() {
    assert_eq!(all_agree(&fixtures_dir().join("sse")), 10);
}

#[test]
fn both_readers_say_the_same_of_real_captures() {
    let Some(data) = shared_data_or_skip("both_readers_say_the_same_of_real_captures") else {
        return;
    };
    assert!(all_agree(&data.join("sse/captured")) >= 10);
    assert!(all_agree(&data.join("sse/llama-server")) >= 10);
}

#[test]
fn what_a_server_tells_of_itself() {
    let capture = |name: &str| body(&fs::read(fixtures_dir().join("sse").join(name)).unwrap());
    let limits = Limits::default();

    let json = capture("props.http");
    let ours = llama::Props::read(&json, &limits).unwrap();
    let theirs: typed::Props = serde_json::from_slice(&json).unwrap();
    assert_eq!(ours.total_slots, Some(2));
    assert_eq!(ours.total_slots, theirs.total_slots);
    assert_eq!(ours.n_ctx, theirs.default_generation_settings.n_ctx);
    assert!(ours.n_ctx.is_some_and(|n_ctx| n_ctx > 0));
    assert_eq!(ours.is_sleeping, theirs.is_sleeping);
    assert_eq!((ours.vision, ours.audio), (theirs.modalities.vision, theirs.modalities.audio));
    for (ours, theirs) in [
        (ours.model_path, theirs.model_path),
        (ours.model_alias, theirs.model_alias),
        (ours.chat_template, theirs.chat_template),
        (ours.build_info, theirs.build_info),
    ] {
        assert_eq!(ours.map(|text| text.to_string()), theirs);
    }

    let json = capture("slots.http");
    let ours: Vec<_> = llama::Slots::read(&json, &limits).unwrap().collect();
    let theirs: Vec<typed::Slot> = serde_json::from_slice(&json).unwrap();
    assert_eq!((ours.len(), theirs.len()), (2, 2));
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!((ours.id, ours.n_ctx, ours.id_task), (theirs.id, theirs.n_ctx, theirs.id_task));
        assert_eq!(ours.is_processing, Some(false));
        assert_eq!(ours.n_prompt_tokens, theirs.n_prompt_tokens);
    }

    let json = capture("models.http");
    let ours: Vec<_> = llama::Models::read(&json, &limits).unwrap().collect();
    let theirs: typed::Models = serde_json::from_slice(&json).unwrap();
    let ([ours], [theirs]) = (&ours[..], &theirs.data[..]) else { panic!("one model") };
    assert!(ours.id.is(&theirs.id) && ours.id.is("tiny"));
    assert_eq!(ours.n_params, theirs.meta.n_params);
    assert_eq!((ours.n_ctx, ours.n_ctx_train), (theirs.meta.n_ctx, theirs.meta.n_ctx_train));
    assert_eq!((ours.n_vocab, ours.n_embd), (theirs.meta.n_vocab, theirs.meta.n_embd));
    assert_eq!(ours.size, theirs.meta.size);

    let json = capture("tokenize.http");
    let ours: Vec<_> = llama::Tokens::read(&json, &limits).unwrap().collect();
    let theirs: typed::Tokens = serde_json::from_slice(&json).unwrap();
    assert_eq!(ours.len(), theirs.tokens.len());
    let mut text = Vec::new();
    for (ours, theirs) in ours.iter().zip(&theirs.tokens) {
        let typed::Token::WithPiece { id, piece } = theirs else { panic!("{theirs:?}") };
        let mut bytes = [0; 16];
        let length = ours.piece.unwrap().copy_into(&mut bytes).unwrap();
        let wanted = match piece {
            typed::Piece::Text(text) => text.as_bytes(),
            typed::Piece::Bytes(bytes) => bytes,
        };
        assert_eq!((ours.id, &bytes[..length]), (*id, wanted));
        text.extend_from_slice(wanted);
    }
    assert!(String::from_utf8(text).unwrap().contains("hé 😀"));

    let json = capture("detokenize.http");
    let theirs: typed::Detokenized = serde_json::from_slice(&json).unwrap();
    assert!(llama::detokenized(&json, &limits).unwrap().is(&theirs.content));
    let json = capture("apply-template.http");
    assert!(llama::templated(&json, &limits).unwrap().to_string().contains("hello"));

    let json = capture("error-context.http");
    let ours = llama::ErrorBody::read(400, &json, &limits);
    let theirs: typed::ErrorBody = serde_json::from_slice(&json).unwrap();
    assert_eq!(Some(ours.code), theirs.error.code);
    assert_eq!(ours.message.map(|text| text.to_string()), theirs.error.message);
    assert_eq!(ours.kind.map(|text| text.to_string()), theirs.error.kind);
    assert_eq!((ours.n_prompt_tokens, ours.n_ctx), (Some(4007), theirs.error.n_ctx));

    let json = capture("health.http");
    assert_eq!(llama::Health::read(200, &json), llama::Health::Ready);
    let theirs: typed::Health = serde_json::from_slice(&json).unwrap();
    assert_eq!(theirs.status.as_deref(), Some("ok"));
}

#[test]
fn bodies_of_another_kind_are_refused_or_waited_for() {
    let limits = Limits::default();
    assert_eq!(llama::Health::read(200, b"<html>"), llama::Health::Failed);
    assert_eq!(llama::Health::read(200, b"{\"status\":\"error\"}"), llama::Health::Failed);
    assert_eq!(llama::Health::read(503, b""), llama::Health::Loading);
    assert_eq!(llama::Health::read(404, b"{\"status\":\"ok\"}"), llama::Health::Failed);
    assert!(llama::Props::read(b"[]", &limits).is_err());
    assert!(llama::Slots::read(b"{}", &limits).is_err());
    assert!(llama::Models::read(b"{\"data\":null}", &limits).is_err());
    for tokens in ["{}", "{\"tokens\":[\"a\"]}", "{\"tokens\":[{\"id\":1,\"piece\":[256]}]}"] {
        assert!(llama::Tokens::read(tokens.as_bytes(), &limits).is_err(), "{tokens}");
    }
    assert_eq!(llama::Tokens::read(b"{\"tokens\":[1,-2]}", &limits).unwrap().count(), 2);
    assert!(llama::detokenized(b"{\"content\":1}", &limits).is_err());
    let router = br#"{"data":[{"id":"a","status":{"value":"unloaded","failed":true,"exit_code":1}},{"id":null},{"id":"b"}]}"#;
    let models: Vec<_> = llama::Models::read(router, &limits).unwrap().collect();
    assert_eq!(models.len(), 2);
    assert!(models[0].status.unwrap().is("unloaded"));
    assert_eq!((models[0].failed, models[0].exit_code), (Some(true), Some(1)));
}
