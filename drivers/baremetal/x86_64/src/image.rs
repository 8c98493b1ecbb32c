//! The files: a section of their own, apart from code.

use common::files::Mapped;

/// All of them, in memory.
pub(crate) fn files() -> Mapped {
    common::mapped!()
}
