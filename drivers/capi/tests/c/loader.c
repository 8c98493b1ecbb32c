/* loader FILE: what the loader's functions do with NULL, and which file an address comes from. FILE, of two pages or
 * more, is removed. */
#include "api.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

/* A reference that names an archive which is not there. */
static const char reference[] =
    "\x82\xb2kpack_search_paths\x91\xa7x.kpack\xabkernel_name\xa8lib/x.so";
static const char constant[] = "a constant of this program, which is mapped from its file";

static void nulls(void) {
  const char* arches[] = {"gfx90a", NULL};
  const char* many[] = {"gfx90a:a+:b+:c+:d+:e+:f+:g+"};
  const char* six[] = {"gfx90a:a+:b+:c+:d+:e+:f+"};
  kpack_cache_t cache = NULL;
  void* data = POISON;
  size_t size = POISON_SIZE;
  kpack_cache_destroy(NULL);
  kpack_free_code_object(NULL);
  CHECK(kpack_cache_create(NULL) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_cache_create(&cache) == KPACK_SUCCESS);
#define LOAD(cache, reference, binary, arches, count, data, size) \
  kpack_load_code_object(cache, reference, binary, 0, arches, count, data, size)
  CHECK(LOAD(NULL, reference, "lib/x.so", arches, 1, &data, &size) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(LOAD(cache, NULL, "lib/x.so", arches, 1, &data, &size) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(LOAD(cache, reference, NULL, arches, 1, &data, &size) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(LOAD(cache, reference, "lib/x.so", NULL, 1, &data, &size) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(LOAD(cache, reference, "lib/x.so", arches, 0, &data, &size) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(LOAD(cache, reference, "lib/x.so", arches, 2, &data, &size) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(LOAD(cache, reference, "lib/x.so", arches, 1, NULL, &size) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(LOAD(cache, reference, "lib/x.so", arches, 1, &data, NULL) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(LOAD(cache, reference, "lib/x.so", many, 1, &data, &size) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(LOAD(cache, reference, "lib/x.so", six, 1, &data, &size) == KPACK_ERROR_ARCHIVE_NOT_FOUND);
  /* What is wrong with the call comes before what is wrong with the reference. */
  CHECK(LOAD(cache, "\xc1", "lib/x.so", many, 1, &data, &size) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(LOAD(cache, "\xc1", "lib/x.so", arches, 1, &data, &size) == KPACK_ERROR_INVALID_METADATA);
  CHECK(LOAD(cache, reference, "lib/x.so", arches, 1, &data, &size) == KPACK_ERROR_ARCHIVE_NOT_FOUND);
  CHECK(data == POISON && size == POISON_SIZE);
  kpack_cache_destroy(cache);
}

/* The bytes at `address` are those of the file that is told, at the offset that is told. */
static void comes_from_a_file(const void* address, size_t length, char* path, size_t room) {
  char found[256];
  size_t offset = POISON_SIZE;
  int file;
  CHECK(length <= sizeof found);
  CHECK(kpack_discover_binary_path(address, path, room, &offset) == KPACK_SUCCESS);
  file = open(path, O_RDONLY);
  CHECK(file >= 0 && pread(file, found, length, (off_t)offset) == (ssize_t)length);
  CHECK(memcmp(found, address, length) == 0);
  close(file);
}

static void addresses(void) {
  char path[PATH_MAX], self[PATH_MAX], small[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  void* heap = malloc(64);
  size_t offset = POISON_SIZE, size;
  CHECK(length > 0 && heap != NULL);
  self[length] = 0;
  comes_from_a_file(constant, sizeof constant, path, sizeof path);
  CHECK(strcmp(path, self) == 0);
  comes_from_a_file((const void*)(uintptr_t)kpack_open, 32, path, sizeof path);
#ifdef ROCM_KPACK_STATIC
  CHECK(strcmp(path, self) == 0);
#else
  CHECK(strstr(path, "/librocm_kpack") != NULL);
#endif
  /* Memory that is of no file. */
  strcpy(path, "untouched");
  CHECK(kpack_discover_binary_path(heap, path, sizeof path, &offset) == KPACK_ERROR_PATH_DISCOVERY_FAILED);
  CHECK(kpack_discover_binary_path(&heap, path, sizeof path, &offset) == KPACK_ERROR_PATH_DISCOVERY_FAILED);
  CHECK(kpack_discover_binary_path((void*)1, path, sizeof path, &offset) == KPACK_ERROR_PATH_DISCOVERY_FAILED);
  CHECK(kpack_discover_binary_path(NULL, path, sizeof path, &offset) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_discover_binary_path(constant, NULL, sizeof path, &offset) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_discover_binary_path(constant, path, 0, &offset) == KPACK_ERROR_INVALID_ARGUMENT);
  /* Room for the path, and not for its NUL. */
  for (size = 1; size <= (size_t)length; size++) {
    CHECK(kpack_discover_binary_path(constant, path, size, &offset) == KPACK_ERROR_INVALID_ARGUMENT);
  }
  CHECK(strcmp(path, "untouched") == 0 && offset == POISON_SIZE);
  memset(small, '?', sizeof small);
  CHECK(kpack_discover_binary_path(constant, small, (size_t)length + 1, NULL) == KPACK_SUCCESS);
  CHECK(strcmp(small, self) == 0 && small[length + 1] == '?');
  free(heap);
}

/* A file that is removed while it is mapped still has its name. */
static void removed(const char* file) {
  char path[PATH_MAX], real[PATH_MAX];
  size_t offset = POISON_SIZE;
  long page = sysconf(_SC_PAGESIZE);
  int handle = open(file, O_RDONLY);
  char* map;
  CHECK(handle >= 0 && realpath(file, real) != NULL);
  map = (char*)mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE, handle, (off_t)page);
  CHECK(map != MAP_FAILED);
  close(handle);
  CHECK(kpack_discover_binary_path(map + 7, path, sizeof path, &offset) == KPACK_SUCCESS);
  CHECK(strcmp(path, real) == 0 && offset == (size_t)page + 7);
  CHECK(unlink(file) == 0);
  CHECK(kpack_discover_binary_path(map + 9, path, sizeof path, &offset) == KPACK_SUCCESS);
  CHECK(strcmp(path, real) == 0 && offset == (size_t)page + 9);
  CHECK(munmap(map, (size_t)page) == 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  nulls();
  addresses();
  removed(argv[1]);
  return 0;
}
