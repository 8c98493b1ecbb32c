//! What a server tells of itself, and its errors.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::nullable;

/// The body of `/health`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct Health {
    /// `ok`.
    #[serde(default)]
    pub status: Option<String>,
}

/// The body of an error.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorValue,
}

/// An error.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct ErrorValue {
    /// The code.
    #[serde(default)]
    pub code: Option<i64>,
    /// The type.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// What is wrong.
    #[serde(default)]
    pub message: Option<String>,
    /// Tokens of a prompt that is too long.
    #[serde(default)]
    pub n_prompt_tokens: Option<u64>,
    /// The context that it is too long for.
    #[serde(default)]
    pub n_ctx: Option<u64>,
}

/// The body of `/props`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct Props {
    /// How many requests run at once.
    #[serde(default)]
    pub total_slots: Option<u64>,
    /// What requests get that do not ask otherwise.
    #[serde(default, deserialize_with = "nullable")]
    pub default_generation_settings: Settings,
    /// The model's file.
    #[serde(default)]
    pub model_path: Option<String>,
    /// The model's name in requests.
    #[serde(default)]
    pub model_alias: Option<String>,
    /// The model's chat template.
    #[serde(default)]
    pub chat_template: Option<String>,
    /// The server's build.
    #[serde(default)]
    pub build_info: Option<String>,
    /// The model is unloaded until the next request.
    #[serde(default)]
    pub is_sleeping: Option<bool>,
    /// What can be sent besides text.
    #[serde(default, deserialize_with = "nullable")]
    pub modalities: Modalities,
}

/// `default_generation_settings`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct Settings {
    /// The context of one slot, in tokens.
    #[serde(default)]
    pub n_ctx: Option<u64>,
}

/// `modalities`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct Modalities {
    /// Images can be sent.
    #[serde(default)]
    pub vision: Option<bool>,
    /// Sound can be sent.
    #[serde(default)]
    pub audio: Option<bool>,
}

/// An element of `/slots`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct Slot {
    /// Its number.
    #[serde(default)]
    pub id: Option<u64>,
    /// Its context, in tokens.
    #[serde(default)]
    pub n_ctx: Option<u64>,
    /// A request runs in it.
    #[serde(default)]
    pub is_processing: Option<bool>,
    /// The last request's number.
    #[serde(default)]
    pub id_task: Option<i64>,
    /// That one's prompt, in tokens.
    #[serde(default)]
    pub n_prompt_tokens: Option<u64>,
}

/// The body of `/v1/models`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct Models {
    /// The models.
    pub data: Vec<Model>,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct Model {
    /// Its name in requests.
    pub id: String,
    /// What is known of it.
    #[serde(default, deserialize_with = "nullable")]
    pub meta: ModelMeta,
}

/// What is known of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct ModelMeta {
    /// The size of its vocabulary.
    #[serde(default)]
    pub n_vocab: Option<u64>,
    /// The context it was loaded with, in tokens.
    #[serde(default)]
    pub n_ctx: Option<u64>,
    /// The context it was trained for, in tokens.
    #[serde(default)]
    pub n_ctx_train: Option<u64>,
    /// The size of an embedding.
    #[serde(default)]
    pub n_embd: Option<u64>,
    /// How many parameters it has.
    #[serde(default)]
    pub n_params: Option<u64>,
    /// The size of its tensors in bytes.
    #[serde(default)]
    pub size: Option<u64>,
}

/// The body of `/tokenize`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct Tokens {
    /// The tokens.
    pub tokens: Vec<Token>,
}

/// A token, with its text or without.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Token {
    /// The id alone.
    Id(i64),
    /// The id and the text.
    WithPiece {
        /// Its id in the model's vocabulary.
        id: i64,
        /// Its text.
        piece: Piece,
    },
}

/// The text of a token.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Piece {
    /// Whole characters.
    Text(String),
    /// Parts of characters.
    Bytes(Vec<u8>),
}

/// The body of `/detokenize`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
pub struct Detokenized {
    /// The text.
    pub content: String,
}
