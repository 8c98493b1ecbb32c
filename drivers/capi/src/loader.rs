//! The loader: caches, code objects, addresses.

use std::ffi::{c_char, c_int, c_void};

use rocload_capi_common::guard::quietly;
use rocload_capi_common::loader::{Wanted, discover};
use rocload_capi_common::pointer::{
    Place, give, handle, put_text, reference, take_back, text, texts,
};
use rocload_capi_common::{Cache, Code, Failure, guard, memory};

/// Makes a cache.
///
/// # Safety
/// `cache` is NULL or a place for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_cache_create(cache: *mut *mut Cache) -> c_int {
    guard(|| {
        // SAFETY: as this function asks for.
        let place = unsafe { Place::at(cache)? };
        place.put(give(Cache::new()));
        Ok(())
    })
    .shipped()
}

/// Destroys a cache.
///
/// # Safety
/// `cache` is NULL or a cache that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_cache_destroy(cache: *mut Cache) {
    // SAFETY: as this function asks for.
    quietly(|| drop(unsafe { take_back(cache) }));
}

/// The file that an address is mapped from.
///
/// # Safety
/// `path` is NULL or valid for writes of `path_size` bytes; `offset` is NULL or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_discover_binary_path(
    address: *const c_void,
    path: *mut c_char,
    path_size: usize,
    offset: *mut usize,
) -> c_int {
    guard(|| {
        if address.is_null() || path.is_null() || path_size == 0 {
            return Err(Code::InvalidArgument.into());
        }
        let (name, at) = discover(address.addr())?;
        // SAFETY: as this function asks for.
        unsafe { put_text(path, path_size, &name)? };
        // SAFETY: the same; NULL means that it is not asked for.
        if let Ok(place) = unsafe { Place::at(offset) } {
            place.put(at);
        }
        Ok(())
    })
    .shipped()
}

/// A code object, in memory that the caller frees.
///
/// # Safety
/// `cache` is NULL or a cache; `hipk_metadata` is NULL or a reference; `binary_path` is NULL or a string;
/// `arch_list` is NULL or a list of `arch_count` strings or NULLs; `code_object` and `size` are NULL or
/// places for results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_load_code_object(
    cache: *const Cache,
    hipk_metadata: *const c_void,
    binary_path: *const c_char,
    co_index: u32,
    arch_list: *const *const c_char,
    arch_count: usize,
    code_object: *mut *mut c_void,
    size: *mut usize,
) -> c_int {
    guard(|| {
        if hipk_metadata.is_null() {
            return Err(Failure::from(Code::InvalidArgument));
        }
        // SAFETY: as this function asks for.
        let (cache, binary) = unsafe { (handle(cache)?, text(binary_path)?) };
        // SAFETY: the same.
        let arches = unsafe { texts(arch_list, arch_count)? };
        // SAFETY: the same.
        let (code_object, size) = unsafe { (Place::at(code_object)?, Place::at(size)?) };
        let measured = if cache.is_on() {
            // SAFETY: it is not NULL, so the caller promises a reference.
            unsafe { reference(hipk_metadata, &cache.limits()) }
        } else {
            Ok(&[][..])
        };
        let wanted = Wanted { binary, co_index, arches: &arches };
        let (memory, bytes) = cache.load(measured, &wanted)?;
        code_object.put(memory.into_raw());
        size.put(bytes);
        Ok(())
    })
    .shipped()
}

/// Frees a code object.
///
/// # Safety
/// `code_object` is NULL or one of [`kpack_load_code_object`] that was not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kpack_free_code_object(code_object: *mut c_void) {
    // SAFETY: as this function asks for.
    unsafe { memory::free(code_object) }
}
