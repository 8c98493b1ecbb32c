//! Streams of llama-server and requests to it.

use arbitrary::Arbitrary;
use rocload_core::llama::request::{
    Chat, Completion, Content, Detokenize, Embeddings, Flavour, Input, Message, Prompt, Sampling,
    Tokenize, ToolCall,
};
use serde_json::json;

use super::{Lie, tell};
use crate::llama::requests::{is_sound, says};
use crate::{Verdict, require, same};

/// A stream.
#[derive(Debug, Clone, Arbitrary)]
pub struct Events {
    /// The answer of the OpenAI endpoints; else llama-server's own.
    pub openai: bool,
    /// What comes.
    pub events: Vec<Event>,
    /// How lines end.
    pub crlf: bool,
    /// What is not so.
    pub lies: Vec<Lie>,
    /// Chooses the chunks.
    pub seed: u64,
}

/// An event.
#[derive(Debug, Clone, Arbitrary)]
pub enum Event {
    /// The role of an answer.
    Role(u8),
    /// A piece of text of an answer.
    Text(u8, String),
    /// A piece of reasoning.
    Reasoning(u8, String),
    /// A piece of a call of a tool.
    Tool(u8, String, String),
    /// Text with the ids of its tokens.
    Tokens(String, Vec<i32>),
    /// An answer ends.
    Finish(u8, u8),
    /// What it cost.
    Usage(u32, u32),
    /// How long it took.
    Timings(u32, u32),
    /// The server's error.
    Error(u16, String),
    /// A comment.
    Ping,
    /// The end of the stream.
    Done,
    /// Any data.
    Data(Vec<u8>),
}

impl Event {
    fn data(&self, openai: bool) -> String {
        let chunk = |choice: u8, delta: serde_json::Value, finish: Option<&str>| {
            json!({"object": "chat.completion.chunk", "choices": [
                {"index": choice % 3, "delta": delta, "finish_reason": finish}]})
        };
        let value = match self {
            Event::Role(choice) => chunk(*choice, json!({"role": "assistant"}), None),
            Event::Text(choice, text) if openai => chunk(*choice, json!({"content": text}), None),
            Event::Text(choice, text) => {
                json!({"index": choice % 3, "content": text, "stop": false})
            }
            Event::Reasoning(choice, text) => {
                chunk(*choice, json!({"reasoning_content": text}), None)
            }
            Event::Tool(choice, name, arguments) => {
                let call = json!({"index": 0, "id": "c", "type": "function",
                    "function": {"name": name, "arguments": arguments}});
                chunk(*choice, json!({"tool_calls": [call]}), None)
            }
            Event::Tokens(text, ids) => json!({"content": text, "tokens": ids, "stop": false}),
            Event::Finish(choice, why) if openai => {
                let words = ["stop", "length", "tool_calls", "content_filter"];
                chunk(*choice, json!({}), Some(words[usize::from(*why) % 4]))
            }
            Event::Finish(_, why) => {
                let why = ["eos", "limit", "word", "none"][usize::from(*why) % 4];
                json!({"content": "", "stop": true, "stop_type": why, "tokens_predicted": 3})
            }
            Event::Usage(prompt, completion) => json!({"choices": [], "usage":
                {"prompt_tokens": prompt, "completion_tokens": completion,
                 "total_tokens": u64::from(*prompt) + u64::from(*completion)}}),
            Event::Timings(count, ms) => json!({"choices": [], "timings":
                {"predicted_n": count, "predicted_ms": f64::from(*ms) / 8.0}}),
            Event::Error(code, message) => {
                json!({"error": {"code": code, "message": message, "type": "server_error"}})
            }
            Event::Ping | Event::Done | Event::Data(_) => return "[DONE]".to_owned(),
        };
        value.to_string()
    }
}

impl Events {
    /// The stream.
    pub fn bytes(&self) -> Vec<u8> {
        let end: &[u8] = if self.crlf { b"\r\n" } else { b"\n" };
        let mut bytes = Vec::new();
        for event in self.events.iter().take(40) {
            match event {
                Event::Ping => bytes.extend(b": ping"),
                Event::Data(data) => {
                    bytes.extend(b"data: ");
                    bytes.extend(data);
                }
                Event::Error(..) if !self.openai => {
                    bytes.extend(b"error: ");
                    bytes.extend(event.data(false).bytes());
                }
                event => {
                    bytes.extend(b"data: ");
                    bytes.extend(event.data(self.openai).bytes());
                }
            }
            bytes.extend(end);
            bytes.extend(end);
        }
        tell(&self.lies, &mut bytes);
        bytes
    }
}

/// A request.
#[derive(Debug, Clone, Arbitrary)]
pub struct Asked {
    /// Which.
    pub kind: u8,
    /// A text of it, and a few more.
    pub text: String,
    /// More texts.
    pub texts: Vec<String>,
    /// Ids of tokens.
    pub ids: Vec<i64>,
    /// Numbers of the sampling.
    pub numbers: [Option<f64>; 4],
    /// Whole numbers of it.
    pub counts: [Option<i64>; 3],
    /// Flags.
    pub flags: [Option<bool>; 3],
    /// Further members, as JSON or not.
    pub extra: Option<String>,
}

impl Asked {
    /// The request is sound, and says what it was told to.
    ///
    /// # Errors
    /// [`Broken`](crate::Broken).
    pub fn is_sound(&self) -> Verdict {
        let texts: Vec<&str> = self.texts.iter().take(6).map(String::as_str).collect();
        let ids = &self.ids[..self.ids.len().min(16)];
        let extra = self.extra.as_deref();
        let [temperature, top_p, min_p, typical_p] = self.numbers;
        let [top_k, seed, n_predict] = self.counts;
        let stop = (!texts.is_empty()).then_some(&texts[..]);
        let sampling = Sampling {
            temperature,
            top_p,
            min_p,
            typical_p,
            top_k,
            seed,
            n_predict,
            stop,
            ignore_eos: self.flags[0],
            ..Sampling::default()
        };
        let text = &self.text[..];
        let (body, name) = match self.kind % 5 {
            0 => {
                let [add_special, parse_special, with_pieces] = self.flags;
                let request = Tokenize { content: text, add_special, parse_special, with_pieces };
                (is_sound(&request)?, "content")
            }
            1 => {
                let body = is_sound(&Detokenize { tokens: ids })?;
                let told = body.as_ref().and_then(|body| body.get("tokens")).cloned();
                return same("ids are sent as they are", &told, &Some(json!(ids)));
            }
            2 => {
                let mut request = Embeddings::new(Input::Text(text));
                request.extra = extra;
                (is_sound(&request)?, "input")
            }
            3 => {
                let mut request = Completion::new(Prompt::Text(text));
                (request.sampling, request.extra) = (sampling, extra);
                request.flavour =
                    if self.flags[1] == Some(true) { Flavour::OpenAi } else { Flavour::Native };
                (is_sound(&request)?, "prompt")
            }
            _ => {
                let calls: Vec<ToolCall<'_>> =
                    texts.iter().map(|name| ToolCall { id: "1", name, arguments: text }).collect();
                let mut last = Message::new("assistant", text);
                last.tool_calls = &calls;
                if self.flags[2] == Some(true) {
                    last.content = Content::Null;
                }
                let messages = [Message::user(text), last];
                let mut request = Chat::new(&messages);
                (request.sampling, request.extra) = (sampling, extra);
                let Some(body) = is_sound(&request)? else { return Ok(()) };
                let first = body.pointer("/messages/0").cloned().unwrap_or_default();
                return says(&first, "content", text);
            }
        };
        let finite = self.numbers.iter().flatten().all(|number| number.is_finite());
        let Some(body) = body else {
            return require(extra.is_some() || !finite, "what is sound is not refused", || {
                format!("{self:?}")
            });
        };
        says(&body, name, text)
    }
}
