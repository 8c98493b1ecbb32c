//! The HTTP drivers against servers that play a scenario: one suite for both, and what is special
//! to each.
#![cfg(unix)]

#[cfg(feature = "blocking")]
mod blocking;
#[cfg(any(feature = "blocking", feature = "tokio"))]
mod captured;
#[cfg(any(feature = "blocking", feature = "tokio"))]
mod drips;
#[cfg(any(feature = "blocking", feature = "tokio"))]
mod driver;
#[cfg(any(feature = "blocking", feature = "tokio"))]
mod reports;
#[cfg(any(feature = "blocking", feature = "tokio"))]
mod server;
#[cfg(any(feature = "blocking", feature = "tokio"))]
mod suite;
#[cfg(feature = "tokio")]
mod tokio;
