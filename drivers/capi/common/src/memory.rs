//! Memory of `malloc`'s, so that a caller's own `free` takes it back.
//!
//! A kernel is decoded straight into its memory, which is not zeroed before: the decoder writes
//! each byte of the kernel and relies on none that it has not written.

use std::ffi::{c_char, c_void};
use std::ptr::{self, NonNull};
use std::slice;

use rocload::Room;

/// A piece of memory, freed when it is dropped.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is owned by this value alone, and `free` takes it from any thread.
unsafe impl Send for Memory {}

impl Memory {
    /// Memory of `len` bytes with any content; `None` where there is none. Also a length of 0
    /// gives an address of its own.
    pub fn new(len: usize) -> Option<Memory> {
        if len > isize::MAX as usize {
            return None;
        }
        // SAFETY: `malloc` takes any size, and `calloc` any two.
        let start = unsafe {
            if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
                libc::malloc(len.max(1))
            } else {
                libc::calloc(len.max(1), 1)
            }
        };
        let start = NonNull::new(start.cast::<u8>())?;
        written(start);
        Some(Memory { start, len })
    }

    /// The memory itself, for the caller to free.
    pub fn into_raw(self) -> *mut c_void {
        let start = self.start;
        std::mem::forget(self);
        start.as_ptr().cast()
    }
}

/// Says that the memory at `start` may have been written, so that whatever it holds is a value: to
/// read it is no use, but no fault either.
fn written(start: NonNull<u8>) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: no instruction is executed. The compiler must take it for one that wrote the bytes
    // that are there anyway, since the address reaches it and it may touch memory.
    unsafe {
        std::arch::asm!("/* {0} */", in(reg) start.as_ptr(), options(nostack, preserves_flags));
    }
    // Elsewhere the memory is zeroed.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = start;
}

impl AsMut<[u8]> for Memory {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: `len` bytes from `start` were allocated, are owned by this value, and count as
        // written; `len` is at most `isize::MAX`.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the memory came from `malloc` or `calloc` and is given back once.
        unsafe { libc::free(self.start.as_ptr().cast()) }
    }
}

/// Room for one kernel, made once its size is known.
#[derive(Debug, Default)]
pub struct Slot(Option<Memory>);

impl Slot {
    /// The memory, if it was asked for and there.
    pub fn take(&mut self) -> Option<Memory> {
        self.0.take()
    }
}

impl Room for Slot {
    fn room(&mut self, size: usize) -> Option<&mut [u8]> {
        // What an attempt before has left is given back first.
        self.0 = None;
        self.0 = Memory::new(size);
        self.0.as_mut().map(AsMut::as_mut)
    }
}

/// Gives back what [`Memory::into_raw`] gave; NULL is nothing.
///
/// # Safety
/// `memory` is NULL or came from [`Memory::into_raw`] and is given back once.
pub unsafe fn free(memory: *mut c_void) {
    // SAFETY: the caller promises memory of `malloc`'s, or NULL.
    unsafe { libc::free(memory) }
}

/// A list of strings in memory of `malloc`'s, each in a piece of its own; behind the last string
/// there is NULL.
#[derive(Debug)]
pub struct Strings {
    list: Memory,
    count: usize,
}

impl Strings {
    /// A copy of these names, each without a NUL at its end; `None` where there is no memory.
    pub fn new<'a>(names: impl ExactSizeIterator<Item = &'a [u8]>) -> Option<Strings> {
        let places = names.len();
        let bytes = places.checked_add(1)?.checked_mul(size_of::<*mut c_char>())?;
        let mut strings = Strings { list: Memory::new(bytes)?, count: 0 };
        for name in names.take(places) {
            let mut string = Memory::new(name.len().checked_add(1)?)?;
            let (text, end) = string.as_mut().split_at_mut(name.len());
            text.copy_from_slice(name);
            end[0] = 0;
            strings.put(string.into_raw().cast());
        }
        strings.end();
        Some(strings)
    }

    /// Writes the next pointer and counts it.
    fn put(&mut self, string: *mut c_char) {
        // SAFETY: at most `places` strings are put, and the list has room for one pointer more.
        // Memory of `malloc`'s is aligned for pointers.
        unsafe { self.pointers().add(self.count).write(string) };
        self.count += 1;
    }

    fn end(&mut self) {
        // SAFETY: as in `put`; there is room for one pointer behind those of the strings.
        unsafe { self.pointers().add(self.count).write(ptr::null_mut()) };
    }

    fn pointers(&mut self) -> *mut *mut c_char {
        self.list.start.as_ptr().cast()
    }

    /// The list itself and the number of its strings, for the caller to free.
    pub fn into_raw(mut self) -> (*mut *mut c_char, usize) {
        let parts = (self.pointers(), self.count);
        std::mem::forget(self);
        parts
    }
}

impl Drop for Strings {
    fn drop(&mut self) {
        for at in 0..self.count {
            // SAFETY: `count` strings were put there, each of them memory of `malloc`'s.
            unsafe { free(self.pointers().add(at).read().cast()) };
        }
    }
}

/// Gives back what [`Strings::into_raw`] gave; NULL is nothing.
///
/// # Safety
/// `list` is NULL or came from [`Strings::into_raw`] with this `count`, and is given back once.
pub unsafe fn free_strings(list: *mut *mut c_char, count: usize) {
    if list.is_null() {
        return;
    }
    for at in 0..count {
        // SAFETY: the caller promises `count` strings of `malloc`'s.
        unsafe { free(list.add(at).read().cast()) };
    }
    // SAFETY: and so is the list.
    unsafe { free(list.cast()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn memory_is_the_callers_once_it_is_raw() {
        let mut memory = Memory::new(5).unwrap();
        memory.as_mut().copy_from_slice(b"bytes");
        let raw = memory.into_raw();
        // SAFETY: five bytes were written; the memory is freed once.
        unsafe {
            assert_eq!(slice::from_raw_parts(raw.cast::<u8>(), 5), b"bytes");
            free(raw);
            free(ptr::null_mut());
        }
    }

    #[test]
    fn nothing_has_an_address_and_too_much_has_none() {
        let mut nothing = Memory::new(0).unwrap();
        assert!(nothing.as_mut().is_empty());
        assert!(Memory::new(usize::MAX).is_none());
        assert!(Memory::new(isize::MAX as usize).is_none());
    }

    #[test]
    fn strings_end_in_nul_and_their_list_in_null() {
        let names = [&b"gfx90a"[..], b"", b"gfx1030"];
        drop(Strings::new(names.into_iter()).unwrap());
        let (list, count) = Strings::new(names.into_iter()).unwrap().into_raw();
        assert_eq!(count, 3);
        // SAFETY: three strings and NULL; they are freed once.
        unsafe {
            for (at, name) in names.iter().enumerate() {
                assert_eq!(CStr::from_ptr(list.add(at).read()).to_bytes(), *name);
            }
            assert!(list.add(3).read().is_null());
            free_strings(list, count);
            free_strings(ptr::null_mut(), 3);
        }
        let (list, count) = Strings::new([].into_iter()).unwrap().into_raw();
        assert_eq!(count, 0);
        // SAFETY: an empty list, freed once.
        unsafe { free_strings(list, count) };
    }
}
