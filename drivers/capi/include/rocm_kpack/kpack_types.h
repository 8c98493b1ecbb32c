/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef ROCM_KPACK_TYPES_H
#define ROCM_KPACK_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open archive. */
typedef struct kpack_archive* kpack_archive_t;

/* A loader: the archives that a search has opened, and the environment of the moment it was made. */
typedef struct kpack_cache* kpack_cache_t;

/* What a function returns. */
typedef enum {
  KPACK_SUCCESS = 0,
  /* A NULL pointer, an index or a count out of range, a buffer too small, a target with too many features. */
  KPACK_ERROR_INVALID_ARGUMENT = 1,
  /* There is no such file. */
  KPACK_ERROR_FILE_NOT_FOUND = 2,
  /* No archive (a directory, another magic number, fewer bytes than a header), or one whose offsets,
   * sizes or compression scheme cannot be. */
  KPACK_ERROR_INVALID_FORMAT = 3,
  /* An archive of another version than 1. */
  KPACK_ERROR_UNSUPPORTED_VERSION = 4,
  /* The archive has no such kernel, or its table points to none. */
  KPACK_ERROR_KERNEL_NOT_FOUND = 5,
  /* The stored bytes are no sound zstd frames, or not of the size that the table says. */
  KPACK_ERROR_DECOMPRESSION_FAILED = 6,
  /* There is no memory, or more is asked for than a limit allows: a kernel over 2 GiB, a table over
   * 256 MiB, more than 2^20 kernels, names over 4096 bytes, values nested deeper than 16. */
  KPACK_ERROR_OUT_OF_MEMORY = 7,
  /* Switched off by ROCM_KPACK_DISABLE, or not available on this system. */
  KPACK_ERROR_NOT_IMPLEMENTED = 8,
  /* The system refused (errno says why), the file is empty, or data lies beyond its end. */
  KPACK_ERROR_IO_ERROR = 9,
  /* The table is no MessagePack map, or a field is missing or of the wrong type. */
  KPACK_ERROR_MSGPACK_PARSE_FAILED = 10,
  /* The address lies in no mapping of a file. */
  KPACK_ERROR_PATH_DISCOVERY_FAILED = 11,
  /* The reference is no map with a kernel's name and a search path. */
  KPACK_ERROR_INVALID_METADATA = 12,
  /* No archive of the search was there and could be opened. */
  KPACK_ERROR_ARCHIVE_NOT_FOUND = 13,
  /* Archives were opened, and none has code for these architectures. */
  KPACK_ERROR_ARCH_NOT_FOUND = 14
} kpack_error_t;

/* Is shown an architecture's name, which lives until it returns, and the caller's own pointer. Returns
 * whether to go on. */
typedef bool (*kpack_arch_callback_t)(const char* arch, void* user_data);

#ifdef __cplusplus
}
#endif

#endif /* ROCM_KPACK_TYPES_H */
