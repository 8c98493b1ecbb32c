//! Against a real llama-server, where the environment variable `ROCLOAD_LLAMA_SERVER` names one;
//! elsewhere each test says on standard error that it was skipped.
#![cfg(unix)]
#![allow(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

mod fits;
mod generates;
mod server;
