/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * librocm_kpack: kernels out of ROCm's .kpack archives.
 *
 * An archive holds code objects, each under the name of a binary ("lib/libfoo.so#0") and an
 * architecture ("gfx90a:xnack-"). The first half of this file opens archives and fetches from them; the
 * second half is the loader, which finds the archive that a program's own device code was moved to.
 *
 * Failures: every function that can fail returns a kpack_error_t, and then has written to none of the
 * places that it was given. None of them ends the process, whatever a file holds. After
 * KPACK_ERROR_FILE_NOT_FOUND and KPACK_ERROR_IO_ERROR errno holds the system's own number.
 *
 * Threads: all functions may be called at any time from any thread, on the same archive and the same
 * cache too; none waits while another reads a file or decompresses. Only closing and destroying
 * must be done when nobody else uses the archive or the cache any more.
 *
 * Memory: kernels and code objects come from malloc. kpack_free_kernel() and kpack_free_code_object() are
 * free(), and free() will do; they outlive the archive and the cache.
 *
 * Strings: names are bytes that end in NUL and are compared as they are.
 */
#ifndef ROCM_KPACK_H
#define ROCM_KPACK_H

#include "kpack_export.h"
#include "kpack_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens the archive at `path` and reads its header and its table, nothing else.
 *
 *   path     a regular file
 *   archive  receives the handle, for kpack_close()
 *
 * Returns KPACK_SUCCESS; INVALID_ARGUMENT for NULL; FILE_NOT_FOUND; INVALID_FORMAT; UNSUPPORTED_VERSION;
 * OUT_OF_MEMORY; IO_ERROR; MSGPACK_PARSE_FAILED.
 */
KPACK_API kpack_error_t kpack_open(const char* path, kpack_archive_t* archive);

/*
 * Closes an archive. Its names become invalid; kernels fetched from it do not. NULL is nothing.
 */
KPACK_API void kpack_close(kpack_archive_t archive);

/*
 * Tells how many architectures the archive lists.
 *
 *   count  receives the number
 *
 * Returns KPACK_SUCCESS; INVALID_ARGUMENT for NULL; OUT_OF_MEMORY.
 */
KPACK_API kpack_error_t kpack_get_architecture_count(kpack_archive_t archive, size_t* count);

/*
 * Tells an architecture, in the archive's own order.
 *
 *   index  from 0 to below the count
 *   arch   receives a string of the archive's, which stays where it is until kpack_close()
 *
 * Returns KPACK_SUCCESS; INVALID_ARGUMENT for NULL or an index that is too large; OUT_OF_MEMORY.
 */
KPACK_API kpack_error_t kpack_get_architecture(kpack_archive_t archive, size_t index, const char** arch);

/*
 * Tells how many binaries the archive has kernels of.
 *
 *   count  receives the number
 *
 * Returns KPACK_SUCCESS; INVALID_ARGUMENT for NULL; OUT_OF_MEMORY.
 */
KPACK_API kpack_error_t kpack_get_binary_count(kpack_archive_t archive, size_t* count);

/*
 * Tells a binary, in the order of their bytes.
 *
 *   index   from 0 to below the count
 *   binary  receives a string of the archive's, which stays where it is until kpack_close()
 *
 * Returns KPACK_SUCCESS; INVALID_ARGUMENT for NULL or an index that is too large; OUT_OF_MEMORY.
 */
KPACK_API kpack_error_t kpack_get_binary(kpack_archive_t archive, size_t index, const char** binary);

/*
 * Fetches a kernel, decompressed. Both names must be exactly those of the archive.
 *
 *   binary  such as "lib/libfoo.so#0"
 *   arch    such as "gfx90a:xnack-"
 *   data    receives the kernel, for kpack_free_kernel(); never NULL, also when the kernel is empty
 *   size    receives its size in bytes
 *
 * Returns KPACK_SUCCESS; INVALID_ARGUMENT for NULL; KERNEL_NOT_FOUND; DECOMPRESSION_FAILED;
 * INVALID_FORMAT for frame lengths that cannot be; OUT_OF_MEMORY; IO_ERROR, also when the file was cut
 * after it was opened.
 */
KPACK_API kpack_error_t kpack_get_kernel(kpack_archive_t archive, const char* binary, const char* arch,
                                         void** data, size_t* size);

/*
 * Frees a kernel. NULL is nothing.
 */
KPACK_API void kpack_free_kernel(void* data);

/*
 * Makes a cache for kpack_load_code_object() and reads the environment, which is not looked at again:
 *
 *   ROCM_KPACK_PATH         archives to search instead of those that the reference names
 *   ROCM_KPACK_PATH_PREFIX  archives to search before them
 *   ROCM_KPACK_DISABLE      nothing is loaded
 *   ROCM_KPACK_DEBUG        lines on stderr that begin with "kpack: " tell what is searched and why it fails
 *
 * A list is separated by ':'; "\:" is a colon of a name, and a name with colons that exists is found
 * without it. The last two are on when they are neither empty nor begin with '0'.
 *
 *   cache  receives the handle, for kpack_cache_destroy()
 *
 * Returns KPACK_SUCCESS; INVALID_ARGUMENT for NULL; OUT_OF_MEMORY.
 */
KPACK_API kpack_error_t kpack_cache_create(kpack_cache_t* cache);

/*
 * Destroys a cache and closes its archives. Code objects that were loaded stay. NULL is nothing.
 */
KPACK_API void kpack_cache_destroy(kpack_cache_t cache);

/*
 * Tells the file that an address of this process is mapped from.
 *
 *   address    such as that of a function or of a constant
 *   path       receives the file's name and a NUL
 *   path_size  the bytes there are at `path`
 *   offset     NULL, or receives the address's offset in the file, in bytes
 *
 * Returns KPACK_SUCCESS; INVALID_ARGUMENT for a NULL `address` or `path` and for a `path_size` that is 0 or too
 * small; PATH_DISCOVERY_FAILED when the address lies in no file's mapping; IO_ERROR; NOT_IMPLEMENTED where
 * there is no /proc.
 */
KPACK_API kpack_error_t kpack_discover_binary_path(const void* address, char* path, size_t path_size,
                                                   size_t* offset);

/*
 * Loads the code object that a reference stands for.
 *
 * The search goes through the architectures in their order, the most special first, and for each of them
 * through its targets with fewer and fewer features. An archive without the kernel lets the search go on.
 * Archives that were opened stay open in the cache; what was not found is looked for again the next time.
 *
 *   hipk_metadata  the reference: a MessagePack map with "kpack_search_paths" and "kernel_name". It is read
 *                  to its end, which it tells itself, and never beyond 64 KiB
 *   binary_path    the file that the reference stands in; search paths are relative to its folder
 *   co_index       the number of the code object in that binary
 *   arch_list      names of ISAs, such as "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", the best one first
 *   arch_count     their number
 *   code_object    receives the code object, for kpack_free_code_object()
 *   size           receives its size in bytes
 *
 * Returns KPACK_SUCCESS; INVALID_ARGUMENT for NULL, for a count of 0 and for an ISA with more than 6
 * features; NOT_IMPLEMENTED when switched off; INVALID_METADATA; ARCHIVE_NOT_FOUND; ARCH_NOT_FOUND; and, when
 * a kernel was there for one of the architectures but could not be had, the gravest of the reasons.
 */
KPACK_API kpack_error_t kpack_load_code_object(kpack_cache_t cache, const void* hipk_metadata,
                                               const char* binary_path, uint32_t co_index,
                                               const char* const* arch_list, size_t arch_count,
                                               void** code_object, size_t* size);

/*
 * Frees a code object. NULL is nothing.
 */
KPACK_API void kpack_free_code_object(void* code_object);

/*
 * Opens the archive at `path`, shows each of its architectures to `callback` until that returns false, and
 * closes it.
 *
 *   callback   is shown a name and `user_data`; what it throws is passed on
 *   user_data  anything
 *
 * Returns KPACK_SUCCESS, also when the callback has stopped it; INVALID_ARGUMENT for a NULL `path` or
 * `callback`; and what kpack_open() returns.
 */
KPACK_API kpack_error_t kpack_enumerate_architectures(const char* path, kpack_arch_callback_t callback,
                                                      void* user_data);

#ifdef __cplusplus
}
#endif

#endif /* ROCM_KPACK_H */
