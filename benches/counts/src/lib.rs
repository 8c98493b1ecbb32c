//! Instruction counts of the core's machines under callgrind: what is counted (`benches/counts.rs`,
//! through gungraun), what it is counted over ([`input`]), and the baseline that counts are held to
//! ([`baseline`]). The program `counts` of this crate runs it all.
//!
//! A count is no speed: a branch that cannot be predicted costs nothing here. It is the same on a
//! busy machine and on an idle one, though, and so shows at once when work was added that nobody
//! meant to add.
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core)]

pub mod baseline;
pub mod input;
pub mod summary;
