//! The drivers of servers: one suite for both, against the fake server and against real ones.
#![cfg(target_os = "linux")]

mod blocking;
mod driver;
mod ends;
mod fake;
mod real;
mod streams;
mod suite;
mod sweep;
mod tokio;
