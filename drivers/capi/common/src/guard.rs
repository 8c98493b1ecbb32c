//! No panic leaves a function: it would end the caller's process.
//!
//! ```
//! use rocload_capi_common::{Code, guard};
//!
//! assert_eq!(guard(|| Ok(())), Code::Success);
//! assert_eq!(guard(|| Err(Code::KernelNotFound.into())), Code::KernelNotFound);
//! assert_eq!(guard(|| panic!("a defect")), Code::IoError);
//! ```

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::code::{Code, Failure};
use crate::pointer;

// With another strategy a panic would abort whatever stands here.
#[cfg(not(panic = "unwind"))]
compile_error!("the C libraries need panic = \"unwind\"");

/// Does `work` and tells how it went; sets `errno` where the system refused. A panic, which is a
/// defect of the library, is answered by [`Code::IoError`].
pub fn guard(work: impl FnOnce() -> Result<(), Failure>) -> Code {
    // What a panic interrupts is either given up with the call or kept whole: locks are taken over
    // when they are poisoned, and results are written last.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => Code::Success,
        Ok(Err(Failure { code, errno })) => {
            if let Some(errno) = errno {
                pointer::set_errno(errno);
            }
            code
        }
        Err(payload) => {
            dispose(payload);
            pointer::set_errno(libc::EIO);
            Code::IoError
        }
    }
}

/// Does `work` that has no result to tell.
pub fn quietly(work: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
        dispose(payload);
    }
}

/// Drops what a panic carried, which may panic in its turn.
fn dispose(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(again);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::panic::panic_any;

    #[test]
    fn a_panic_is_a_code_whatever_it_carries() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("once more");
            }
        }
        assert_eq!(guard(|| panic_any(Bomb)), Code::IoError);
        assert_eq!(guard(|| panic_any(7)), Code::IoError);
        quietly(|| panic_any(Bomb));
    }

    #[test]
    fn errno_is_the_systems() {
        let code = guard(|| Err(Failure { code: Code::IoError, errno: Some(libc::EACCES) }));
        assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EACCES));
        assert_eq!(code, Code::IoError);
    }
}
