//! `/completion` and `/v1/completions`, and the counts that all endpoints share.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Logprobs, nullable};

/// An event or a whole answer of `/completion`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
pub struct Completion {
    /// Which answer.
    #[serde(default, deserialize_with = "nullable")]
    pub index: u32,
    /// The text, or what is new of it.
    #[serde(default, deserialize_with = "nullable")]
    pub content: String,
    /// Token ids. Those of an event with [`Completion::prompt_progress`] are none:
    /// [`Completion::ids`].
    #[serde(default, deserialize_with = "nullable")]
    pub tokens: Vec<i64>,
    /// The answer is complete.
    #[serde(default, deserialize_with = "nullable")]
    pub stop: bool,
    /// Why: `eos`, `word`, `limit` or `none`.
    #[serde(default)]
    pub stop_type: Option<String>,
    /// The stop word that ended it; empty for none.
    #[serde(default)]
    pub stopping_word: Option<String>,
    /// The context was full.
    #[serde(default, deserialize_with = "nullable")]
    pub truncated: bool,
    /// Tokens generated so far.
    #[serde(default)]
    pub tokens_predicted: Option<u64>,
    /// Tokens of the prompt.
    #[serde(default)]
    pub tokens_evaluated: Option<u64>,
    /// How long it took.
    #[serde(default)]
    pub timings: Option<Timings>,
    /// How much of the prompt has been read.
    #[serde(default)]
    pub prompt_progress: Option<Progress>,
}

impl Completion {
    /// The token ids.
    pub fn ids(&self) -> &[i64] {
        if self.prompt_progress.is_some() { &[] } else { &self.tokens }
    }
}

/// An event or a whole answer of `/v1/completions`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
pub struct TextCompletion {
    /// Its id.
    #[serde(default)]
    pub id: Option<String>,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
    /// The answers, or what is new of them.
    #[serde(default, deserialize_with = "nullable")]
    pub choices: Vec<TextChoice>,
    /// What it cost.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// How long it took.
    #[serde(default)]
    pub timings: Option<Timings>,
}

/// An answer of `/v1/completions`, or what is new of it.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
pub struct TextChoice {
    /// Which answer.
    #[serde(default, deserialize_with = "nullable")]
    pub index: u32,
    /// The text.
    #[serde(default, deserialize_with = "nullable")]
    pub text: String,
    /// Why it ended.
    #[serde(default)]
    pub finish_reason: Option<String>,
    /// Its tokens, if asked for.
    #[serde(default)]
    pub logprobs: Option<Logprobs>,
}

/// `usage` of the OpenAI endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct Usage {
    /// Tokens of the prompt.
    #[serde(default)]
    pub prompt_tokens: Option<u64>,
    /// Tokens generated.
    #[serde(default)]
    pub completion_tokens: Option<u64>,
    /// Both.
    #[serde(default)]
    pub total_tokens: Option<u64>,
}

/// `timings`; times in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
pub struct Timings {
    /// Tokens of the prompt that were in the cache.
    #[serde(default)]
    pub cache_n: Option<u64>,
    /// Tokens of the prompt that were computed.
    #[serde(default)]
    pub prompt_n: Option<u64>,
    /// Time for those.
    #[serde(default)]
    pub prompt_ms: Option<f64>,
    /// Tokens of the prompt a second.
    #[serde(default)]
    pub prompt_per_second: Option<f64>,
    /// Tokens generated.
    #[serde(default)]
    pub predicted_n: Option<u64>,
    /// Time for those.
    #[serde(default)]
    pub predicted_ms: Option<f64>,
    /// Tokens generated a second.
    #[serde(default)]
    pub predicted_per_second: Option<f64>,
    /// Tokens that a draft model proposed.
    #[serde(default)]
    pub draft_n: Option<u64>,
    /// Of those, the ones accepted.
    #[serde(default)]
    pub draft_n_accepted: Option<u64>,
}

/// `prompt_progress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct Progress {
    /// Tokens of the prompt.
    #[serde(default)]
    pub total: Option<u64>,
    /// Of those, the ones in the cache.
    #[serde(default)]
    pub cache: Option<u64>,
    /// Of those, the ones done.
    #[serde(default)]
    pub processed: Option<u64>,
    /// Time so far, in milliseconds.
    #[serde(default)]
    pub time_ms: Option<u64>,
}
