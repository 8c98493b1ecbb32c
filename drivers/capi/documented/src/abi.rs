//! Archives: open, list, fetch.

use std::ffi::{c_char, c_int, c_void};

use rocload_capi_common::guard::quietly;
use rocload_capi_common::memory::{self, Strings};
use rocload_capi_common::pointer::{Place, give, handle, take_back, text};
use rocload_capi_common::{Archive, Failure, guard};

/// Opens an archive.
///
/// # Safety
/// `path` is NULL or a string; `archive` is NULL or a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_open(path: *const c_char, archive: *mut *mut Archive) -> c_int {
    guard(|| {
        // SAFETY: as this function asks for.
        let (path, place) = unsafe { (text(path)?, Place::at(archive)?) };
        place.put(give(Archive::open(path)?));
        Ok(())
    })
    .documented()
}

/// Closes an archive.
///
/// # Safety
/// `archive` is NULL or an open archive that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_close(archive: *mut Archive) {
    // SAFETY: as this function asks for.
    quietly(|| drop(unsafe { take_back(archive) }));
}

/// The architectures, in a list that the caller frees.
///
/// # Safety
/// `archive` is NULL or an open archive; `arches` and `count` are NULL or places for results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_get_architectures(
    archive: *const Archive,
    arches: *mut *mut *mut c_char,
    count: *mut usize,
) -> c_int {
    // SAFETY: as this function asks for.
    unsafe { list(archive, arches, count, Archive::arch_strings) }
}

/// The binaries, in a list that the caller frees.
///
/// # Safety
/// `archive` is NULL or an open archive; `binaries` and `count` are NULL or places for results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_get_binaries(
    archive: *const Archive,
    binaries: *mut *mut *mut c_char,
    count: *mut usize,
) -> c_int {
    // SAFETY: as this function asks for.
    unsafe { list(archive, binaries, count, Archive::binary_strings) }
}

/// Both lists.
///
/// # Safety
/// As [`kpack_get_architectures`].
unsafe fn list(
    archive: *const Archive,
    names: *mut *mut *mut c_char,
    count: *mut usize,
    strings: fn(&Archive) -> Result<Strings, Failure>,
) -> c_int {
    guard(|| {
        // SAFETY: as this function asks for.
        let (archive, names, count) =
            unsafe { (handle(archive)?, Place::at(names)?, Place::at(count)?) };
        let (list, len) = strings(archive)?.into_raw();
        names.put(list);
        count.put(len);
        Ok(())
    })
    .documented()
}

/// Frees a list of strings.
///
/// # Safety
/// `list` is NULL or a list that was not freed yet, with its `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_free_string_array(list: *mut *mut c_char, count: usize) {
    // SAFETY: as this function asks for.
    unsafe { memory::free_strings(list, count) }
}

/// A kernel, in memory that the caller frees.
///
/// # Safety
/// `archive` is NULL or an open archive; `binary` and `arch` are NULL or strings; `data` and `size` are
/// NULL or places for results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_get_kernel(
    archive: *const Archive,
    binary: *const c_char,
    arch: *const c_char,
    data: *mut *mut c_void,
    size: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: as this function asks for.
        let (archive, binary, arch) = unsafe { (handle(archive)?, text(binary)?, text(arch)?) };
        // SAFETY: the same.
        let (data, size) = unsafe { (Place::at(data)?, Place::at(size)?) };
        let (memory, bytes) = archive.kernel(binary, arch)?;
        data.put(memory.into_raw());
        size.put(bytes);
        Ok(())
    })
    .documented()
}

/// Frees a kernel; also after its archive was closed.
///
/// # Safety
/// `data` is NULL or a kernel of [`kpack_get_kernel`] that was not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_free_kernel(_archive: *const Archive, data: *mut c_void) {
    // SAFETY: as this function asks for.
    unsafe { memory::free(data) }
}
