//! Binaries and the device code in them, through both drivers: one suite.

#[cfg(feature = "blocking")]
mod blocking;
mod suite;
#[cfg(feature = "tokio")]
mod tokio;
