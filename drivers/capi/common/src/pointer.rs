//! What C passes: strings, places for results, handles, `errno`.
//!
//! Each is an `unsafe` conversion into a value of which the rest of the library is safe. What the
//! conversions ask for is what the headers ask of a caller.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::slice;

use rocload::core::{Machine, Need};
use rocload::kpack::Measure;
use rocload::{Limits, core};

use crate::code::Code;

/// The bytes of a string, without its NUL.
///
/// # Errors
/// [`Code::InvalidArgument`] for NULL.
///
/// # Safety
/// `text` is NULL or points to a string that ends in NUL and stays unchanged for `'a`.
pub unsafe fn text<'a>(text: *const c_char) -> Result<&'a [u8], Code> {
    if text.is_null() {
        return Err(Code::InvalidArgument);
    }
    // SAFETY: it is not NULL, so the caller promises a string that ends and lives for `'a`.
    Ok(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// A place of the caller's that a result goes to.
#[derive(Debug)]
pub struct Place<T>(NonNull<T>);

impl<T> Place<T> {
    /// The place at `to`.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] for NULL.
    ///
    /// # Safety
    /// `to` is NULL or aligned and valid for a write as long as the value lives.
    pub unsafe fn at(to: *mut T) -> Result<Self, Code> {
        NonNull::new(to).map(Place).ok_or(Code::InvalidArgument)
    }

    /// Puts the result there.
    pub fn put(self, value: T) {
        // SAFETY: whoever made this value promised that the place can be written.
        unsafe { self.0.as_ptr().write(value) }
    }
}

/// What a handle stands for, while others may use it as well.
///
/// # Errors
/// [`Code::InvalidArgument`] for NULL.
///
/// # Safety
/// `handle` is NULL or came from [`give`] and is not taken back for `'a`.
pub unsafe fn handle<'a, T: Sync>(handle: *const T) -> Result<&'a T, Code> {
    // SAFETY: a handle that is not NULL points to a value that lives until it is taken back.
    unsafe { handle.as_ref() }.ok_or(Code::InvalidArgument)
}

/// A handle for the caller to keep.
pub fn give<T: Send + Sync>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// What [`give`] gave, to be dropped; NULL is nothing.
///
/// # Safety
/// `handle` is NULL or came from [`give`], is taken back once, and nobody uses it any more.
pub unsafe fn take_back<T>(handle: *mut T) -> Option<Box<T>> {
    // SAFETY: the caller promises that a handle that is not NULL is its box and used by nobody.
    (!handle.is_null()).then(|| unsafe { Box::from_raw(handle) })
}

/// A list of strings.
///
/// # Errors
/// [`Code::InvalidArgument`] for NULL, an empty list, or a NULL in it.
///
/// # Safety
/// `list` is NULL or points to `count` pointers, each as [`text`] wants it.
pub unsafe fn texts<'a>(list: *const *const c_char, count: usize) -> Result<Vec<&'a [u8]>, Code> {
    if list.is_null() || count == 0 || count > isize::MAX as usize / size_of::<*const c_char>() {
        return Err(Code::InvalidArgument);
    }
    let mut found = Vec::new();
    found.try_reserve_exact(count).map_err(|_| Code::OutOfMemory)?;
    for at in 0..count {
        // SAFETY: `at` is below `count`, so the pointer is one of the list's, and the caller
        // promises a string or NULL behind it.
        found.push(unsafe { text(list.add(at).read()) }?);
    }
    Ok(found)
}

/// The reference at `at`, as long as it says itself.
///
/// # Errors
/// What is wrong with it: it is measured without a look at what its strings hold.
///
/// # Safety
/// `at` points to memory that can be read as far as the MessagePack value that begins there says,
/// to the first byte that breaks it or to [`Limits::reference_bytes`], and stays unchanged for `'a`.
pub unsafe fn reference<'a>(at: *const c_void, limits: &Limits) -> Result<&'a [u8], core::Error> {
    let start = at.cast::<u8>();
    let mut measure = Measure::new(limits);
    while let Need::At { offset, min, .. } = measure.need() {
        // SAFETY: the bytes before have promised that `min` bytes follow at `offset`, which lies
        // below the limit; the caller promises that they can be read.
        let bytes = unsafe { slice::from_raw_parts(start.add(offset as usize), min) };
        let _ = measure.step(offset, bytes)?;
    }
    let len = measure.len().unwrap_or_default();
    // SAFETY: the value is `len` bytes long, as it has said itself.
    Ok(unsafe { slice::from_raw_parts(start, len as usize) })
}

/// Puts a string and a NUL into the `room` bytes at `to`.
///
/// # Errors
/// [`Code::InvalidArgument`] where there is too little room; then nothing is written.
///
/// # Safety
/// `to` is valid for writes of `room` bytes.
pub unsafe fn put_text(to: *mut c_char, room: usize, text: &[u8]) -> Result<(), Code> {
    if text.len() >= room {
        return Err(Code::InvalidArgument);
    }
    let to = to.cast::<u8>();
    // SAFETY: the string and its NUL fit into the room; it is not the caller's own memory that is
    // copied, so that the two do not overlap.
    unsafe {
        to.copy_from_nonoverlapping(text.as_ptr(), text.len());
        to.add(text.len()).write(0);
    }
    Ok(())
}

/// Sets the calling thread's `errno`.
pub fn set_errno(errno: c_int) {
    #[cfg(target_os = "linux")]
    // SAFETY: the location is that of the calling thread, valid while it runs.
    unsafe {
        *libc::__errno_location() = errno;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = errno;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn null_is_an_invalid_argument() {
        // SAFETY: NULL is allowed everywhere here.
        unsafe {
            assert_eq!(text(ptr::null()), Err(Code::InvalidArgument));
            assert!(Place::<u8>::at(ptr::null_mut()).is_err());
            assert!(handle::<u8>(ptr::null()).is_err());
            assert!(take_back::<u8>(ptr::null_mut()).is_none());
            assert_eq!(texts(ptr::null(), 1), Err(Code::InvalidArgument));
        }
        let list = [c"gfx90a".as_ptr(), ptr::null()];
        // SAFETY: the list has two pointers, a string and NULL.
        unsafe {
            assert_eq!(texts(list.as_ptr(), 0), Err(Code::InvalidArgument));
            assert_eq!(texts(list.as_ptr(), 1), Ok(vec![&b"gfx90a"[..]]));
            assert_eq!(texts(list.as_ptr(), 2), Err(Code::InvalidArgument));
            assert_eq!(texts(list.as_ptr(), usize::MAX), Err(Code::InvalidArgument));
        }
    }

    #[test]
    fn a_reference_is_read_to_its_end_alone() {
        let limits = Limits::default();
        let mut bytes = b"\x82\xb2kpack_search_paths\x91\xa1a\xabkernel_name\xa1b".to_vec();
        bytes.shrink_to_fit();
        // SAFETY: the vector holds the whole of it.
        let found = unsafe { reference(bytes.as_ptr().cast(), &limits) };
        assert_eq!(found, Ok(&bytes[..]));
        for broken in [&b"\x90"[..], b"\xc1", b"\x81\xc1", b"\xdf\xff\xff\xff\xff"] {
            // SAFETY: the last byte breaks it.
            assert!(unsafe { reference(broken.as_ptr().cast(), &limits) }.is_err());
        }
    }

    #[test]
    fn text_fits_with_its_nul_or_not_at_all() {
        let mut room = [b'?'; 4];
        // SAFETY: the room is as large as is said.
        unsafe {
            let to = room.as_mut_ptr().cast::<c_char>();
            assert_eq!(put_text(to, 3, b"abc"), Err(Code::InvalidArgument));
            assert_eq!(put_text(to, 0, b""), Err(Code::InvalidArgument));
            assert_eq!(put_text(to, 4, b"abc"), Ok(()));
        }
        assert_eq!(&room, b"abc\0");
    }

    #[test]
    fn a_handle_is_one_until_it_is_taken_back() {
        let given = give(7);
        // SAFETY: it was given just now and is taken back once, last.
        unsafe {
            assert_eq!(handle(given), Ok(&7));
            assert_eq!(take_back(given), Some(Box::new(7)));
        }
    }
}
