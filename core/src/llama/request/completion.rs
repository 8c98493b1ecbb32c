//! `/completion` and `/v1/completions`.

use super::chat::stream;
use super::fields::{Fields, Request};
use super::sampling::Sampling;

/// What is to be continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompt<'a> {
    /// Text.
    Text(&'a str),
    /// Token ids.
    Tokens(&'a [i64]),
    /// JSON: an array of texts and ids, or of several prompts.
    Json(&'a str),
}

/// Which of the two endpoints a [`Completion`] is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Flavour {
    /// `/completion`, llama-server's own, which tells token ids.
    #[default]
    Native,
    /// `/v1/completions`, in the words of the OpenAI API.
    OpenAi,
}

/// A request to continue a prompt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Completion<'a> {
    /// The endpoint.
    pub flavour: Flavour,
    /// What is to be continued.
    pub prompt: Prompt<'a>,
    /// The model, where a server has several.
    pub model: Option<&'a str>,
    /// The answer comes as a stream.
    pub stream: bool,
    /// A stream of `/v1/completions` ends with what it cost (it does so anyway).
    pub include_usage: Option<bool>,
    /// How many likely tokens the answer tells with each token (0); `logprobs` at
    /// `/v1/completions`.
    pub n_probs: Option<u32>,
    /// How tokens are chosen.
    pub sampling: Sampling<'a>,
    /// Further members: the text of a JSON object.
    pub extra: Option<&'a str>,
}

impl<'a> Completion<'a> {
    /// A request of `/completion` that leaves everything to the server, for a whole answer.
    pub fn new(prompt: Prompt<'a>) -> Self {
        Completion {
            flavour: Flavour::Native,
            prompt,
            model: None,
            stream: false,
            include_usage: None,
            n_probs: None,
            sampling: Sampling::default(),
            extra: None,
        }
    }
}

impl Request for Completion<'_> {
    fn path(&self) -> &'static str {
        match self.flavour {
            Flavour::Native => "/completion",
            Flavour::OpenAi => "/v1/completions",
        }
    }

    fn fields(&self, fields: &mut Fields<'_, '_>) {
        fields.string("model", self.model);
        match self.prompt {
            Prompt::Text(text) => fields.string("prompt", Some(text)),
            Prompt::Tokens(tokens) => fields.numbers("prompt", tokens),
            Prompt::Json(json) => fields.raw("prompt", Some(json), 0),
        }
        stream(fields, self.stream, self.include_usage);
        let (probs, max_tokens, answers) = match self.flavour {
            Flavour::Native => ("n_probs", "n_predict", "n_cmpl"),
            Flavour::OpenAi => ("logprobs", "max_tokens", "n"),
        };
        fields.number(probs, self.n_probs);
        self.sampling.fields(fields, max_tokens, answers);
    }

    fn extra(&self) -> Option<&str> {
        self.extra
    }
}
