//! A table of contents through every view of it.
//!
//! There are four ways to read a TOC: the view that keeps nothing, rows in lent memory found by
//! hash, the same found by halving, and (with `alloc`) the owned table. One law wants one verdict,
//! the same entries and the same lookups of all of them, and of a naive twin that knows nothing
//! but the rule for duplicates.
//!
//! And one law has what the writer writes read again (with `alloc`).

mod model;
mod views;

#[cfg(feature = "alloc")]
mod owned;
#[cfg(feature = "alloc")]
mod roundtrip;

pub use model::{Kernel, Model, Name};
pub use views::{Memory, views_agree};

#[cfg(feature = "alloc")]
pub use owned::{open_any_way, owned_agrees};
#[cfg(feature = "alloc")]
pub use roundtrip::{Writing, Written, survives};
