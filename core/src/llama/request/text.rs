//! `/tokenize`, `/detokenize`, `/apply-template` and `/v1/embeddings`.

use super::chat::{Message, messages};
use super::fields::{Fields, Request};

/// A request of `/tokenize`: the tokens of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokenize<'a> {
    /// The text.
    pub content: &'a str,
    /// The model's own first and last tokens come too (false).
    pub add_special: Option<bool>,
    /// Control tokens in the text are told apart (true).
    pub parse_special: Option<bool>,
    /// The text of each token comes too (false).
    pub with_pieces: Option<bool>,
}

impl<'a> Tokenize<'a> {
    /// The ids of a text's tokens.
    pub const fn new(content: &'a str) -> Self {
        Tokenize { content, add_special: None, parse_special: None, with_pieces: None }
    }
}

impl Request for Tokenize<'_> {
    fn path(&self) -> &'static str {
        "/tokenize"
    }

    fn fields(&self, fields: &mut Fields<'_, '_>) {
        fields.string("content", Some(self.content));
        fields.bool("add_special", self.add_special);
        fields.bool("parse_special", self.parse_special);
        fields.bool("with_pieces", self.with_pieces);
    }
}

/// A request of `/detokenize`: the text of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detokenize<'a> {
    /// Their ids.
    pub tokens: &'a [i64],
}

impl Request for Detokenize<'_> {
    fn path(&self) -> &'static str {
        "/detokenize"
    }

    fn fields(&self, fields: &mut Fields<'_, '_>) {
        fields.numbers("tokens", self.tokens);
    }
}

/// A request of `/apply-template`: the prompt that a conversation becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApplyTemplate<'a> {
    /// The conversation.
    pub messages: &'a [Message<'a>],
    /// Further members: the text of a JSON object.
    pub extra: Option<&'a str>,
}

impl Request for ApplyTemplate<'_> {
    fn path(&self) -> &'static str {
        "/apply-template"
    }

    fn fields(&self, fields: &mut Fields<'_, '_>) {
        messages(fields, self.messages);
    }

    fn extra(&self) -> Option<&str> {
        self.extra
    }
}

/// What is to be embedded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input<'a> {
    /// One text.
    Text(&'a str),
    /// Several.
    Texts(&'a [&'a str]),
    /// Token ids.
    Tokens(&'a [i64]),
}

/// A request of `/v1/embeddings`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embeddings<'a> {
    /// What is to be embedded.
    pub input: Input<'a>,
    /// The model, where a server has several.
    pub model: Option<&'a str>,
    /// `float` or `base64` (float).
    pub encoding_format: Option<&'a str>,
    /// Further members: the text of a JSON object.
    pub extra: Option<&'a str>,
}

impl<'a> Embeddings<'a> {
    /// A request that leaves everything to the server.
    pub const fn new(input: Input<'a>) -> Self {
        Embeddings { input, model: None, encoding_format: None, extra: None }
    }
}

impl Request for Embeddings<'_> {
    fn path(&self) -> &'static str {
        "/v1/embeddings"
    }

    fn fields(&self, fields: &mut Fields<'_, '_>) {
        match self.input {
            Input::Text(text) => fields.string("input", Some(text)),
            Input::Texts(texts) => fields.strings("input", Some(texts)),
            Input::Tokens(tokens) => fields.numbers("input", tokens),
        }
        fields.string("model", self.model);
        fields.string("encoding_format", self.encoding_format);
    }

    fn extra(&self) -> Option<&str> {
        self.extra
    }
}
