//! A server and its streams.

mod generation;
mod server;
mod supervision;

pub use generation::Generation;
pub use server::{Driver, Server};
