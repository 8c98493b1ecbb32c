/* memory ARCHIVE KIB: opens an archive and fetches its first kernel with so much more memory than the program has anyway.
 * On stdout the codes. Nothing is written where a call has failed, and the process lives. */
#include "api.h"

#include <sys/resource.h>
#include <unistd.h>

static void limit(unsigned long kib) {
  unsigned long pages = 0;
  struct rlimit room;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
  fclose(file);
  room.rlim_cur = room.rlim_max = pages * (unsigned long)sysconf(_SC_PAGESIZE) + kib * 1024;
  CHECK(setrlimit(RLIMIT_AS, &room) == 0);
}

int main(int argc, char** argv) {
  kpack_archive_t archive = (kpack_archive_t)POISON;
  kpack_error_t code;
  CHECK(argc == 3);
  setvbuf(stdout, NULL, _IONBF, 0);
  limit(strtoul(argv[2], NULL, 10));
  code = kpack_open(argv[1], &archive);
  printf("%d", (int)code);
  if (code == KPACK_SUCCESS) {
    void* data = POISON;
    size_t size = POISON_SIZE;
    code = kpack_get_kernel(archive, "a", "gfx1030", &data, &size);
    printf(" %d", (int)code);
    if (code == KPACK_SUCCESS) {
      free_kernel(archive, data);
    } else {
      CHECK(data == POISON && size == POISON_SIZE);
    }
    kpack_close(archive);
  } else {
    CHECK(archive == (kpack_archive_t)POISON);
  }
  printf("\n");
  return 0;
}
