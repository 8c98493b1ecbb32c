//! The files, in flash: a section of their own, apart from code.

use common::files::Mapped;

/// All of them. Flash is mapped: a frame is decoded from where it lies.
pub(crate) fn files() -> Mapped {
    common::mapped!()
}
