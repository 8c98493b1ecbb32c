//! A server and its streams.

mod backend;
mod generation;
mod server;
mod supervision;

pub use backend::{Backend, Opening};
pub use generation::Generation;
pub use server::{Driver, Server};
