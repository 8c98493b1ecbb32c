//! Loading kernels from trees of archives, through both drivers: one suite.
#![cfg(unix)]

#[cfg(feature = "blocking")]
mod blocking;
mod maps;
mod suite;
#[cfg(feature = "tokio")]
mod tokio;
