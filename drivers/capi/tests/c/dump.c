/* dump ARCHIVE: architectures, binaries and every kernel, on stdout. A record is a word, a tab, names that end in
 * tabs, a length and a newline; a kernel's bytes follow it. */
#include "api.h"

int main(int argc, char** argv) {
  kpack_archive_t archive = NULL;
  size_t arch_count, binary_count, a, b;
  char **arches, **binaries;
  CHECK(argc == 2);
  CHECK(kpack_open(argv[1], &archive) == KPACK_SUCCESS);
  arches = names(archive, 0, &arch_count);
  binaries = names(archive, 1, &binary_count);
  for (a = 0; a < arch_count; a++) printf("arch\t%s\t0\n", arches[a]);
  for (b = 0; b < binary_count; b++) printf("binary\t%s\t0\n", binaries[b]);
  for (b = 0; b < binary_count; b++) {
    for (a = 0; a < arch_count; a++) {
      void* data = POISON;
      size_t size = POISON_SIZE;
      kpack_error_t code = kpack_get_kernel(archive, binaries[b], arches[a], &data, &size);
      if (code == KPACK_ERROR_KERNEL_NOT_FOUND) {
        CHECK(data == POISON && size == POISON_SIZE);
        continue;
      }
      CHECK(code == KPACK_SUCCESS && data != NULL && data != POISON);
      printf("kernel\t%s\t%s\t%lu\n", binaries[b], arches[a], (unsigned long)size);
      CHECK(fwrite(data, 1, size, stdout) == size);
      /* Each in turn by the library's function and by the caller's own. */
      if ((a + b) % 2 == 0) {
        free_kernel(archive, data);
      } else {
        free(data);
      }
    }
  }
  free_names(arches, arch_count);
  free_names(binaries, binary_count);
  kpack_close(archive);
  CHECK(fflush(stdout) == 0);
  return 0;
}
