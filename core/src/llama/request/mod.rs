//! Bodies of requests, written into a slice without an allocator.
//!
//! A field that is `None` is left out, so that the server's default holds; one that is `Some` is
//! sent, zero too: greedy decoding is `temperature: Some(0.0)`. What has no field here goes into
//! `extra`, the text of a JSON object whose members are passed through.
//!
//! ```
//! use rocload_core::llama::request::{Chat, Message, Request};
//!
//! let messages = [Message::system("Be brief."), Message::user("What is \"SSE\"?")];
//! let mut chat = Chat::new(&messages);
//! chat.stream = true;
//! chat.include_usage = Some(true);
//! chat.sampling.temperature = Some(0.0);
//! chat.sampling.stop = Some(&["\n\n"]);
//! chat.extra = Some(r#"{"my_field": [1]}"#);
//! let mut buffer = [0; 512];
//! let length = chat.write(&mut buffer)?;
//! assert_eq!(std::str::from_utf8(&buffer[..length]).unwrap(), concat!(
//!     r#"{"messages":[{"role":"system","content":"Be brief."},"#,
//!     r#"{"role":"user","content":"What is \"SSE\"?"}],"#,
//!     r#""stream":true,"stream_options":{"include_usage":true},"#,
//!     r#""temperature":0.0,"stop":["\n\n"],"my_field":[1]}"#,
//! ));
//! assert_eq!(chat.path(), "/v1/chat/completions");
//! # Ok::<(), rocload_core::Error>(())
//! ```
//!
//! Sources: llama.cpp `tools/server/server-schema.cpp` and `README.md`.

mod chat;
mod completion;
mod fields;
mod sampling;
mod text;

pub use chat::{Chat, Content, Message, ToolCall};
pub use completion::{Completion, Flavour, Prompt};
pub use fields::{Fields, Request};
pub use sampling::{Bias, Sampling};
pub use text::{ApplyTemplate, Detokenize, Embeddings, Input, Tokenize};

#[cfg(test)]
mod tests;
