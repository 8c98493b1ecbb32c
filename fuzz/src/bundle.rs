//! Containers of code objects.

use core::cell::RefCell;

use laws::bundle::{sections_agree, walks_as_the_naive_one};
use rocload_core::zstd::Workspace;

use crate::{hold, limits, seed};

/// The bytes as a region of bundles, and as a binary.
pub fn bundle(bytes: &[u8]) {
    thread_local! {
        static DECODER: RefCell<Workspace<0>> = const { RefCell::new(Workspace::new()) };
    }
    let mut limits = limits();
    limits.kernel_bytes = 1 << 16;
    DECODER.with_borrow_mut(|decoder| {
        hold(walks_as_the_naive_one(bytes, &limits, decoder, seed(bytes)).map(|_| ()));
    });
    hold(sections_agree(bytes, seed(bytes)));
}
