//! JSON without an allocator: a strict pull scanner, views over a checked text, and a writer.
//!
//! [`Scanner`] gives the tokens of one text by RFC 8259: no comments, no trailing commas, no
//! leading zeros, nothing behind the value. Nothing is copied: a string is its range of the input
//! ([`Str`]) and is decoded where and when it is wanted; a number is its exact text ([`Number`]).
//! Nesting is counted in one word of bits, so that a hostile text costs no stack.
//!
//! [`check`] runs the scanner over a whole text and gives a [`Value`], a view that finds members
//! and elements by skipping; `null` is the same as absent there, as servers differ in which they
//! send. [`Writer`] writes into a slice and counts what does not fit.
//!
//! ```
//! use rocload_core::Limits;
//! use rocload_core::llama::json::{self, Scanner, Token};
//!
//! let text = br#"{"content":"caf\u00e9 \ud83d\ude00","stop":null,"tokens":[8730]}"#;
//! let value = json::check(text, 0, &Limits::default())?;
//! let content = value.get("content").and_then(|content| content.as_str()).unwrap();
//! let mut buffer = [0; 16];
//! assert_eq!(content.unescape_into(&mut buffer), Ok("café 😀"));
//! assert!(value.get("stop").is_none());
//! let tokens = value.get("tokens").unwrap();
//! assert_eq!(tokens.elements().next().and_then(|id| id.as_i64()), Some(8730));
//!
//! let mut scanner = Scanner::new(b"[1,]", 0, &Limits::default());
//! assert!(matches!(scanner.next(), Ok(Token::ArrayBegin)));
//! assert!(matches!(scanner.next(), Ok(Token::Number(_))));
//! assert_eq!(scanner.next().unwrap_err().offset, 3);
//! # Ok::<(), rocload_core::Error>(())
//! ```

mod fault;
mod scan;
mod string;
mod value;
mod write;

pub use fault::{Fault, Wanted};
pub use scan::{MAX_DEPTH, Number, Scanner, Token};
pub use string::{Piece, Pieces, Str};
pub use value::{Elements, Members, Value, check, check_lossy};
pub use write::Writer;

#[cfg(test)]
mod tests;
