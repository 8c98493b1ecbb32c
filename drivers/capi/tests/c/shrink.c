/* shrink ARCHIVE: cuts an archive of two kernels, "a" and "b", while it is open. */
#include "api.h"

#include <unistd.h>

#ifdef DOCUMENTED
#define GONE KPACK_ERROR_INVALID_FORMAT
#else
#define GONE KPACK_ERROR_IO_ERROR
#endif

int main(int argc, char** argv) {
  kpack_archive_t archive = NULL;
  void* data = POISON;
  size_t size = POISON_SIZE;
  CHECK(argc == 2);
  CHECK(kpack_open(argv[1], &archive) == KPACK_SUCCESS);
  CHECK(kpack_get_kernel(archive, "b", "gfx1030", &data, &size) == KPACK_SUCCESS);
  free_kernel(archive, data);
  data = POISON;
  size = POISON_SIZE;
  /* The second kernel is cut; of the first, which is whole, nobody can tell in a file that has changed. */
  CHECK(truncate(argv[1], 1024) == 0);
  errno = 0;
  CHECK(kpack_get_kernel(archive, "b", "gfx1030", &data, &size) == GONE);
  CHECK(errno != 0);
  CHECK(data == POISON && size == POISON_SIZE);
  CHECK(kpack_get_kernel(archive, "a", "gfx1030", &data, &size) == GONE);
  CHECK(data == POISON && size == POISON_SIZE);
  /* And now there is nothing left. */
  CHECK(truncate(argv[1], 0) == 0);
  data = POISON;
  size = POISON_SIZE;
  CHECK(kpack_get_kernel(archive, "a", "gfx1030", &data, &size) == GONE);
  CHECK(data == POISON && size == POISON_SIZE);
  kpack_close(archive);
  return 0;
}
