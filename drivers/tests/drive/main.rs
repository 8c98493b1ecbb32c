//! The generic drivers against the machines of the law: one suite for all of them, and what is
//! special to each.

#[cfg(feature = "blocking")]
mod blocking;
#[cfg(any(feature = "blocking", feature = "tokio"))]
mod suite;
#[cfg(feature = "tokio")]
mod tokio;
