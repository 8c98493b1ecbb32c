/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef ROCM_KPACK_TYPES_H
#define ROCM_KPACK_TYPES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open archive. */
typedef struct kpack_archive* kpack_archive_t;

/* What a function returns. */
typedef enum {
  KPACK_SUCCESS = 0,
  /* A NULL pointer. */
  KPACK_ERROR_INVALID_ARGUMENT = 1,
  /* There is no such file. */
  KPACK_ERROR_FILE_NOT_FOUND = 2,
  /* No archive, a broken one, or one that the system does not let be read: see errno. */
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
  /* Not available on this system. */
  KPACK_ERROR_NOT_IMPLEMENTED = 8
} kpack_error_t;

#ifdef __cplusplus
}
#endif

#endif /* ROCM_KPACK_TYPES_H */
