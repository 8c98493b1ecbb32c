/* What the programs here share: checks, and one way to the two interfaces (DOCUMENTED chooses). */
#ifndef API_H
#define API_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rocm_kpack/kpack.h>

#define CHECK(what)                                                       \
  do {                                                                    \
    if (!(what)) {                                                        \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);          \
      exit(1);                                                            \
    }                                                                     \
  } while (0)

/* What places hold before a call that must not write to them. */
#define POISON ((void*)(uintptr_t)0x5ca1ab1e)
#define POISON_SIZE ((size_t)0x5ca1ab1e)

#ifdef __cplusplus
#define UNUSED(name)
#else
#define UNUSED(name) name __attribute__((unused))
#endif

#ifdef DOCUMENTED

static inline void free_kernel(kpack_archive_t archive, void* data) { kpack_free_kernel(archive, data); }

static inline char** names(kpack_archive_t archive, int binaries, size_t* count) {
  char** list = NULL;
  CHECK((binaries ? kpack_get_binaries : kpack_get_architectures)(archive, &list, count) == KPACK_SUCCESS);
  CHECK(list != NULL && list[*count] == NULL);
  return list;
}

static inline void free_names(char** list, size_t count) { kpack_free_string_array(list, count); }

#else

static inline void free_kernel(kpack_archive_t UNUSED(archive), void* data) { kpack_free_kernel(data); }

static inline char** names(kpack_archive_t archive, int binaries, size_t* count) {
  size_t at;
  char** list;
  CHECK((binaries ? kpack_get_binary_count : kpack_get_architecture_count)(archive, count) == KPACK_SUCCESS);
  list = (char**)malloc((*count + 1) * sizeof *list);
  CHECK(list != NULL);
  for (at = 0; at < *count; at++) {
    const char* name = NULL;
    CHECK((binaries ? kpack_get_binary : kpack_get_architecture)(archive, at, &name) == KPACK_SUCCESS);
    /* The archive's own: the copy of the pointer is enough. */
    list[at] = (char*)name;
  }
  list[*count] = NULL;
  return list;
}

static inline void free_names(char** list, size_t UNUSED(count)) { free(list); }

#endif

#endif
