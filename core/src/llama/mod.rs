//! The protocol of llama-server: requests out, answers in.
//!
//! - [`Stream`]: a streamed answer, from body bytes to [`Item`]s, of whichever endpoint.
//! - [`Answer`]: the same items of an answer that came whole.
//! - [`ErrorBody`], [`Health`], [`Props`], [`Slots`], [`Models`], [`Tokens`], [`Embeddings`]: the other answers.
//! - [`request`]: bodies of requests.
//! - [`StopIds`]: stopping at tokens by their ids.
//! - `typed` (feature `serde`): owned values of the same answers.
//! - [`json`]: the scanner and the writer that these need no allocator for.
//!
//! ```
//! use rocload_core::llama::{Item, Options, Outcome, Stream};
//! use rocload_core::{Limits, visit};
//!
//! let body = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\\u0021\"}}]}\n\n: ping\n\n\
//!              data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
//! let mut stream = Stream::new(Options::new(), &Limits::default(), [0u8; 1024], [0u8; 256]);
//! let (mut text, mut end) = (String::new(), None);
//! visit(&mut stream, 0, body, |item| match item {
//!     Item::Text { text: more, .. } => text.push_str(more),
//!     Item::End(ending) => end = Some(ending),
//!     _ => {}
//! })?;
//! assert_eq!(text, "Hi!");
//! assert_eq!(end.map(|end| (end.outcome, end.received.comments)), Some((Outcome::Complete, 1)));
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! Sources: llama.cpp `tools/server` (`server-task.cpp`, `server-context.cpp`) and answers of a
//! server of that build.

mod answer;
mod embeddings;
mod error_body;
mod fault;
mod info;
mod item;
pub mod json;
mod read;
pub mod request;
mod stop;
mod stream;
#[cfg(feature = "serde")]
pub mod typed;

pub use answer::Answer;
pub use embeddings::{Embedding, Embeddings};
pub use error_body::ErrorBody;
pub use fault::Fault;
pub use info::{
    Health, Model, Models, Props, Slot, Slots, Token, TokenPiece, Tokens, detokenized, templated,
};
pub use item::{
    Ending, Finish, Item, Items, Outcome, Overflow, Progress, Reason, Received, ServerError,
    Timings, ToolPart, Usage,
};
pub use read::Dialect;
pub use stop::{Stop, StopIds, stop_string};
pub use stream::{Options, Stream};
