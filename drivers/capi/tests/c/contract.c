/* contract ARCHIVE: what each function does with NULL, with numbers out of range, with names that are not there, and
 * what it leaves alone. The archive has at least one kernel of its first binary for its first architecture. */
#include "api.h"

static kpack_archive_t archive;
static char **arches, **binaries;
static size_t arch_count, binary_count;

static void opening(const char* path) {
  kpack_archive_t untouched = (kpack_archive_t)POISON;
  CHECK(kpack_open(NULL, &untouched) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_open(path, NULL) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_open(NULL, NULL) == KPACK_ERROR_INVALID_ARGUMENT);
  errno = 0;
  CHECK(kpack_open("no/such/file.kpack", &untouched) == KPACK_ERROR_FILE_NOT_FOUND);
  CHECK(errno == ENOENT);
  CHECK(kpack_open("", &untouched) == KPACK_ERROR_FILE_NOT_FOUND);
  CHECK(kpack_open("/", &untouched) == KPACK_ERROR_INVALID_FORMAT);
  errno = 0;
  /* The program itself is a file, so that nothing can lie below it. */
  CHECK(kpack_open("/proc/self/exe/x.kpack", &untouched) != KPACK_SUCCESS);
  CHECK(errno == ENOTDIR);
  CHECK(kpack_open("/dev/null", &untouched) != KPACK_SUCCESS);
  CHECK(kpack_open("/proc/self/exe", &untouched) == KPACK_ERROR_INVALID_FORMAT);
  CHECK(untouched == (kpack_archive_t)POISON);
  CHECK(kpack_open(path, &archive) == KPACK_SUCCESS);
  CHECK(archive != NULL);
}

static void fetching(void) {
  void* data = POISON;
  size_t size = POISON_SIZE;
  const char *binary = binaries[0], *arch = arches[0];
  void* again = NULL;
  size_t again_size = 0;
  CHECK(kpack_get_kernel(NULL, binary, arch, &data, &size) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_kernel(archive, NULL, arch, &data, &size) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_kernel(archive, binary, NULL, &data, &size) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_kernel(archive, binary, arch, NULL, &size) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_kernel(archive, binary, arch, &data, NULL) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_kernel(archive, "no such binary", arch, &data, &size) == KPACK_ERROR_KERNEL_NOT_FOUND);
  CHECK(kpack_get_kernel(archive, binary, "gfx000", &data, &size) == KPACK_ERROR_KERNEL_NOT_FOUND);
  CHECK(kpack_get_kernel(archive, "", "", &data, &size) == KPACK_ERROR_KERNEL_NOT_FOUND);
  CHECK(data == POISON && size == POISON_SIZE);
  CHECK(kpack_get_kernel(archive, binary, arch, &data, &size) == KPACK_SUCCESS);
  CHECK(data != POISON && size != POISON_SIZE);
  /* The caller may write to it: another fetch gives the kernel all the same, elsewhere. */
  CHECK(kpack_get_kernel(archive, binary, arch, &again, &again_size) == KPACK_SUCCESS);
  CHECK(again != data && again_size == size && memcmp(again, data, size) == 0);
  memset(data, 0, size);
  free_kernel(archive, data);
  free(again);
  free_kernel(archive, NULL);
  free_kernel(NULL, NULL);
}

/* A kernel outlives its archive. */
static void closing(const char* path) {
  void *first = NULL, *second = NULL;
  size_t size = 0, same = 0;
  kpack_archive_t other = NULL;
  CHECK(kpack_get_kernel(archive, binaries[0], arches[0], &first, &size) == KPACK_SUCCESS);
  CHECK(kpack_open(path, &other) == KPACK_SUCCESS && other != archive);
  CHECK(kpack_get_kernel(other, binaries[0], arches[0], &second, &same) == KPACK_SUCCESS);
  kpack_close(other);
  CHECK(size == same && memcmp(first, second, size) == 0);
  free_names(arches, arch_count);
  free_names(binaries, binary_count);
  kpack_close(archive);
  free_kernel(NULL, first);
  free_kernel(NULL, second);
  kpack_close(NULL);
}

#ifdef DOCUMENTED

static void listing(void) {
  char** list = (char**)POISON;
  size_t count = POISON_SIZE;
  CHECK(kpack_get_architectures(NULL, &list, &count) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_architectures(archive, NULL, &count) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_architectures(archive, &list, NULL) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_binaries(NULL, &list, &count) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_binaries(archive, NULL, &count) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_binaries(archive, &list, NULL) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(list == (char**)POISON && count == POISON_SIZE);
  kpack_free_string_array(NULL, 0);
  kpack_free_string_array(NULL, 7);
  /* Two lists are two. */
  CHECK(kpack_get_binaries(archive, &list, &count) == KPACK_SUCCESS);
  CHECK(count == binary_count && list != binaries && list[0] != binaries[0]);
  CHECK(strcmp(list[0], binaries[0]) == 0);
  kpack_free_string_array(list, count);
}

#else

static bool count_up(const char* arch, void* user_data) {
  size_t* seen = (size_t*)user_data;
  CHECK(strcmp(arch, arches[*seen]) == 0);
  ++*seen;
  return true;
}

static bool stop(const char* UNUSED(arch), void* user_data) {
  ++*(size_t*)user_data;
  return false;
}

static void listing(void) {
  const char* name = (const char*)POISON;
  size_t count = POISON_SIZE;
  CHECK(kpack_get_architecture_count(NULL, &count) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_architecture_count(archive, NULL) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_binary_count(NULL, &count) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_binary_count(archive, NULL) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_architecture(NULL, 0, &name) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_architecture(archive, 0, NULL) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_architecture(archive, arch_count, &name) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_architecture(archive, (size_t)-1, &name) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_binary(NULL, 0, &name) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_binary(archive, 0, NULL) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_binary(archive, binary_count, &name) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_get_binary(archive, (size_t)-1, &name) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(name == (const char*)POISON && count == POISON_SIZE);
  /* A name is the archive's and stays where it is. */
  CHECK(kpack_get_binary(archive, 0, &name) == KPACK_SUCCESS && name == binaries[0]);
  CHECK(kpack_get_architecture(archive, 0, &name) == KPACK_SUCCESS && name == arches[0]);
}

static void enumerating(const char* path) {
  size_t seen = 0;
  CHECK(kpack_enumerate_architectures(NULL, count_up, &seen) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_enumerate_architectures(path, NULL, &seen) == KPACK_ERROR_INVALID_ARGUMENT);
  CHECK(kpack_enumerate_architectures("no/such/file.kpack", count_up, &seen) == KPACK_ERROR_FILE_NOT_FOUND);
  CHECK(kpack_enumerate_architectures("/proc/self/exe", count_up, &seen) == KPACK_ERROR_INVALID_FORMAT);
  CHECK(seen == 0);
  CHECK(kpack_enumerate_architectures(path, count_up, &seen) == KPACK_SUCCESS && seen == arch_count);
  seen = 0;
  CHECK(kpack_enumerate_architectures(path, stop, &seen) == KPACK_SUCCESS && seen == 1);
}

#endif

int main(int argc, char** argv) {
  CHECK(argc == 2);
  opening(argv[1]);
  arches = names(archive, 0, &arch_count);
  binaries = names(archive, 1, &binary_count);
  CHECK(arch_count > 0 && binary_count > 0);
  listing();
#ifndef DOCUMENTED
  enumerating(argv[1]);
#endif
  fetching();
  closing(argv[1]);
  return 0;
}
