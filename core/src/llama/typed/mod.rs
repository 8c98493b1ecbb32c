//! Owned values of the protocol, by serde (feature `serde`): for programs that would rather hold
//! an answer than follow it.
//!
//! They say the same as the readers without an allocator ([`Answer`](super::Answer),
//! [`Props`](super::Props), ...), with every member optional that a server may leave out or send
//! as null; members that are not known are ignored.
//!
//! ```
//! use rocload_core::llama::typed::ChatChunk;
//!
//! let data = r#"{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}],"model":"m"}"#;
//! let chunk: ChatChunk = serde_json::from_str(data)?;
//! assert_eq!(chunk.choices[0].delta.content.as_deref(), Some("Hi"));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod chat;
mod completion;
mod server;

pub use chat::{
    Chat, ChatChoice, ChatChunk, ChatMessage, ChunkChoice, Function, Logprob, Logprobs, ToolCall,
};
pub use completion::{Completion, Progress, TextChoice, TextCompletion, Timings, Usage};
pub use server::{
    Detokenized, ErrorBody, ErrorValue, Health, Modalities, Model, ModelMeta, Models, Piece, Props,
    Settings, Slot, Token, Tokens,
};

use serde::{Deserialize, Deserializer};

/// Null is the same as absent: the default.
fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
