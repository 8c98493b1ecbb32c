//! `/v1/chat/completions`.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Progress, Timings, Usage, nullable};

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
pub struct ChatChunk {
    /// The stream's id.
    #[serde(default)]
    pub id: Option<String>,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
    /// When it was made, in seconds since 1970.
    #[serde(default)]
    pub created: Option<i64>,
    /// What is new of each answer.
    #[serde(default, deserialize_with = "nullable")]
    pub choices: Vec<ChunkChoice>,
    /// What it cost; with the last event, if asked for.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// How long it took.
    #[serde(default)]
    pub timings: Option<Timings>,
    /// How much of the prompt has been read.
    #[serde(default)]
    pub prompt_progress: Option<Progress>,
}

/// What is new of an answer.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
pub struct ChunkChoice {
    /// Which answer.
    #[serde(default, deserialize_with = "nullable")]
    pub index: u32,
    /// What is new.
    #[serde(default, deserialize_with = "nullable")]
    pub delta: ChatMessage,
    /// Why it ended.
    #[serde(default)]
    pub finish_reason: Option<String>,
    /// Its tokens, if asked for.
    #[serde(default)]
    pub logprobs: Option<Logprobs>,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
pub struct Chat {
    /// Its id.
    #[serde(default)]
    pub id: Option<String>,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
    /// When it was made, in seconds since 1970.
    #[serde(default)]
    pub created: Option<i64>,
    /// The answers.
    #[serde(default, deserialize_with = "nullable")]
    pub choices: Vec<ChatChoice>,
    /// What it cost.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// How long it took.
    #[serde(default)]
    pub timings: Option<Timings>,
}

/// One of the whole answers.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
pub struct ChatChoice {
    /// Which answer.
    #[serde(default, deserialize_with = "nullable")]
    pub index: u32,
    /// What it says.
    #[serde(default, deserialize_with = "nullable")]
    pub message: ChatMessage,
    /// Why it ended.
    #[serde(default)]
    pub finish_reason: Option<String>,
    /// Its tokens, if asked for.
    #[serde(default)]
    pub logprobs: Option<Logprobs>,
}

/// A message, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct ChatMessage {
    /// Who speaks.
    #[serde(default)]
    pub role: Option<String>,
    /// What is said.
    #[serde(default)]
    pub content: Option<String>,
    /// What was thought.
    #[serde(default)]
    pub reasoning_content: Option<String>,
    /// The tools to be called.
    #[serde(default, deserialize_with = "nullable")]
    pub tool_calls: Vec<ToolCall>,
}

/// A call of a tool, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct ToolCall {
    /// Which call, in a stream.
    #[serde(default)]
    pub index: Option<u32>,
    /// Its id.
    #[serde(default)]
    pub id: Option<String>,
    /// The tool and its arguments.
    #[serde(default, deserialize_with = "nullable")]
    pub function: Function,
}

/// A tool and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct Function {
    /// The tool's name.
    #[serde(default)]
    pub name: Option<String>,
    /// The arguments: JSON, or a part of it.
    #[serde(default)]
    pub arguments: Option<String>,
}

/// The tokens of an answer.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
pub struct Logprobs {
    /// Each token.
    #[serde(default, deserialize_with = "nullable")]
    pub content: Vec<Logprob>,
}

/// A token and how likely it was.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
pub struct Logprob {
    /// Its id in the model's vocabulary.
    #[serde(default)]
    pub id: Option<i64>,
    /// Its text.
    #[serde(default, deserialize_with = "nullable")]
    pub token: String,
    /// Its text in bytes.
    #[serde(default, deserialize_with = "nullable")]
    pub bytes: Vec<u8>,
    /// The logarithm of its probability.
    #[serde(default)]
    pub logprob: Option<f64>,
    /// The likeliest tokens in its place.
    #[serde(default, deserialize_with = "nullable")]
    pub top_logprobs: Vec<Logprob>,
}
