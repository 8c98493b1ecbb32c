//! Archives: open, list, fetch.

use std::ffi::{c_char, c_int, c_void};

use rocload_capi_common::guard::quietly;
use rocload_capi_common::pointer::{Place, give, handle, take_back, text};
use rocload_capi_common::{Archive, Code, Failure, guard, memory};

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
    .shipped()
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

/// The number of architectures.
///
/// # Safety
/// `archive` is NULL or an open archive; `count` is NULL or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_get_architecture_count(
    archive: *const Archive,
    count: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: as this function asks for.
        let (archive, place) = unsafe { (handle(archive)?, Place::at(count)?) };
        place.put(archive.arches()?.len());
        Ok(())
    })
    .shipped()
}

/// An architecture's name.
///
/// # Safety
/// `archive` is NULL or an open archive; `arch` is NULL or a place for a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_get_architecture(
    archive: *const Archive,
    index: usize,
    arch: *mut *const c_char,
) -> c_int {
    guard(|| {
        // SAFETY: as this function asks for.
        let (archive, place) = unsafe { (handle(archive)?, Place::at(arch)?) };
        place.put(archive.arches()?.get(index).ok_or(Code::InvalidArgument)?);
        Ok(())
    })
    .shipped()
}

/// The number of binaries.
///
/// # Safety
/// `archive` is NULL or an open archive; `count` is NULL or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_get_binary_count(
    archive: *const Archive,
    count: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: as this function asks for.
        let (archive, place) = unsafe { (handle(archive)?, Place::at(count)?) };
        place.put(archive.binaries()?.len());
        Ok(())
    })
    .shipped()
}

/// A binary's name.
///
/// # Safety
/// `archive` is NULL or an open archive; `binary` is NULL or a place for a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_get_binary(
    archive: *const Archive,
    index: usize,
    binary: *mut *const c_char,
) -> c_int {
    guard(|| {
        // SAFETY: as this function asks for.
        let (archive, place) = unsafe { (handle(archive)?, Place::at(binary)?) };
        place.put(archive.binaries()?.get(index).ok_or(Code::InvalidArgument)?);
        Ok(())
    })
    .shipped()
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
    .shipped()
}

/// Frees a kernel.
///
/// # Safety
/// `data` is NULL or a kernel of [`kpack_get_kernel`] that was not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_free_kernel(data: *mut c_void) {
    // SAFETY: as this function asks for.
    unsafe { memory::free(data) }
}

/// Shows each architecture of an archive, until the callback says no.
///
/// What the callback throws leaves this function as it came: the archive is closed, the list freed.
///
/// # Safety
/// `path` is NULL or a string; `callback` is NULL or may be called with a string and `user_data`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn kpack_enumerate_architectures(
    path: *const c_char,
    callback: Option<unsafe extern "C-unwind" fn(*const c_char, *mut c_void) -> bool>,
    user_data: *mut c_void,
) -> c_int {
    let mut shown = None;
    let code = guard(|| {
        // SAFETY: as this function asks for.
        let path = unsafe { text(path)? };
        let callback = callback.ok_or(Failure::from(Code::InvalidArgument))?;
        let archive = Archive::open(path)?;
        archive.arches()?;
        shown = Some((callback, archive));
        Ok(())
    });
    if let Some((callback, archive)) = shown
        && let Ok(arches) = archive.arches()
    {
        for arch in (0..arches.len()).map_while(|at| arches.get(at)) {
            // SAFETY: the caller promises a callback for this; the string lives until the archive
            // is dropped. Nothing here catches what it throws.
            if !unsafe { callback(arch, user_data) } {
                break;
            }
        }
    }
    code.shipped()
}
