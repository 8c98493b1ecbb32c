/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * librocm_kpack, the interface of its design document: kernels out of ROCm's .kpack archives.
 *
 * An archive holds code objects, each under the name of a binary ("lib/libfoo.so#0") and an
 * architecture ("gfx90a:xnack-").
 *
 * Failures: every function that can fail returns a kpack_error_t, and then has written to none of the
 * places that it was given. None of them ends the process, whatever a file holds. Where the system
 * refused, errno holds its number.
 *
 * Threads: all functions may be called at any time from any thread, on the same archive too; none waits
 * while another reads a file or decompresses. Only closing must be done when nobody else uses the
 * archive any more.
 *
 * Memory: kernels and lists come from malloc. kpack_free_kernel() is free(), and free() will do; they
 * outlive the archive.
 *
 * A program that was built for this file does not run with the library that has fourteen functions:
 * its kpack_free_kernel() has another argument.
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
 * OUT_OF_MEMORY.
 */
KPACK_API kpack_error_t kpack_open(const char* path, kpack_archive_t* archive);

/*
 * Closes an archive. Kernels and lists that came from it stay. NULL is nothing.
 */
KPACK_API void kpack_close(kpack_archive_t archive);

/*
 * Lists the architectures, in the archive's own order.
 *
 *   arches  receives the list, for kpack_free_string_array(); behind the last string there is NULL
 *   count   receives the number of strings
 *
 * Returns KPACK_SUCCESS; INVALID_ARGUMENT for NULL; OUT_OF_MEMORY.
 */
KPACK_API kpack_error_t kpack_get_architectures(kpack_archive_t archive, char*** arches, size_t* count);

/*
 * Lists the binaries, in the order of their bytes.
 *
 *   binaries  receives the list, for kpack_free_string_array(); behind the last string there is NULL
 *   count     receives the number of strings
 *
 * Returns KPACK_SUCCESS; INVALID_ARGUMENT for NULL; OUT_OF_MEMORY.
 */
KPACK_API kpack_error_t kpack_get_binaries(kpack_archive_t archive, char*** binaries, size_t* count);

/*
 * Frees a list and its strings. NULL is nothing.
 *
 *   array  the list
 *   count  its number of strings
 */
KPACK_API void kpack_free_string_array(char** array, size_t count);

/*
 * Fetches a kernel, decompressed. Both names must be exactly those of the archive.
 *
 *   binary_name  such as "lib/libfoo.so#0"
 *   arch         such as "gfx90a:xnack-"
 *   kernel_data  receives the kernel, for kpack_free_kernel(); never NULL, also when the kernel is empty
 *   kernel_size  receives its size in bytes
 *
 * Returns KPACK_SUCCESS; INVALID_ARGUMENT for NULL; KERNEL_NOT_FOUND; DECOMPRESSION_FAILED; INVALID_FORMAT
 * for frame lengths that cannot be and for a file that cannot be read any more; OUT_OF_MEMORY.
 */
KPACK_API kpack_error_t kpack_get_kernel(kpack_archive_t archive, const char* binary_name, const char* arch,
                                         void** kernel_data, size_t* kernel_size);

/*
 * Frees a kernel. NULL is nothing.
 *
 *   archive      not looked at; the archive may be closed
 *   kernel_data  the kernel
 */
KPACK_API void kpack_free_kernel(kpack_archive_t archive, void* kernel_data);

#ifdef __cplusplus
}
#endif

#endif /* ROCM_KPACK_H */
