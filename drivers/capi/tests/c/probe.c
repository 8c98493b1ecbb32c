/* probe ARCHIVE...: the codes that archives give, a line each on stdout: that of kpack_open, and behind it those of all
 * pairs of a binary and an architecture. Whatever a call refuses it must leave untouched. */
#include "api.h"

static void probe(const char* path) {
  kpack_archive_t archive = (kpack_archive_t)POISON;
  kpack_error_t code = kpack_open(path, &archive);
  size_t arch_count, binary_count, a, b;
  char **arches, **binaries;
  printf("%d", (int)code);
  if (code != KPACK_SUCCESS) {
    CHECK(archive == (kpack_archive_t)POISON);
    printf("\n");
    return;
  }
  arches = names(archive, 0, &arch_count);
  binaries = names(archive, 1, &binary_count);
  for (b = 0; b < binary_count; b++) {
    for (a = 0; a < arch_count; a++) {
      void* data = POISON;
      size_t size = POISON_SIZE;
      code = kpack_get_kernel(archive, binaries[b], arches[a], &data, &size);
      printf(" %d", (int)code);
      if (code == KPACK_SUCCESS) {
        CHECK(data != POISON && data != NULL);
        free_kernel(archive, data);
      } else {
        CHECK(data == POISON && size == POISON_SIZE);
      }
    }
  }
  printf("\n");
  free_names(arches, arch_count);
  free_names(binaries, binary_count);
  kpack_close(archive);
}

int main(int argc, char** argv) {
  int at;
  for (at = 1; at < argc; at++) probe(argv[at]);
  CHECK(fflush(stdout) == 0);
  return 0;
}
