/* threads ARCHIVE THREADS ROUNDS: many threads on one archive, which list and fetch at once, while others open and
 * close archives of their own. Every answer is compared with what one thread was told before. */
#include "api.h"

static const char* path;
static kpack_archive_t shared;
static unsigned long rounds;
static pthread_barrier_t start;

/* What one thread was told. */
static char **arches, **binaries;
static size_t arch_count, binary_count;
static void** kernels;
static size_t* sizes;

static void fetch_all(kpack_archive_t archive, size_t from) {
  size_t all = arch_count * binary_count, step;
  for (step = 0; step < all; step++) {
    size_t at = (from + step) % all;
    void* data = POISON;
    size_t size = POISON_SIZE;
    kpack_error_t code =
        kpack_get_kernel(archive, binaries[at / arch_count], arches[at % arch_count], &data, &size);
    if (kernels[at] == NULL) {
      CHECK(code == KPACK_ERROR_KERNEL_NOT_FOUND && data == POISON && size == POISON_SIZE);
      continue;
    }
    CHECK(code == KPACK_SUCCESS && size == sizes[at] && memcmp(data, kernels[at], size) == 0);
    free_kernel(archive, data);
  }
}

static void list_all(kpack_archive_t archive) {
  size_t count, at;
  char** list = names(archive, 1, &count);
  CHECK(count == binary_count);
  for (at = 0; at < count; at++) CHECK(strcmp(list[at], binaries[at]) == 0);
  free_names(list, count);
  list = names(archive, 0, &count);
  CHECK(count == arch_count);
  for (at = 0; at < count; at++) CHECK(strcmp(list[at], arches[at]) == 0);
  free_names(list, count);
}

static void* work(void* number) {
  size_t me = *(size_t*)number;
  unsigned long round;
  pthread_barrier_wait(&start);
  for (round = 0; round < rounds; round++) {
    list_all(shared);
    fetch_all(shared, me * 7 + round * 13);
    if (me % 2 == 1) {
      kpack_archive_t own = NULL;
      CHECK(kpack_open(path, &own) == KPACK_SUCCESS);
      list_all(own);
      fetch_all(own, me);
      kpack_close(own);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  kpack_archive_t alone = NULL;
  pthread_t* threads;
  size_t *numbers, count, at, all;
  CHECK(argc == 4);
  path = argv[1];
  count = strtoul(argv[2], NULL, 10);
  rounds = strtoul(argv[3], NULL, 10);
  CHECK(kpack_open(path, &alone) == KPACK_SUCCESS);
  arches = names(alone, 0, &arch_count);
  binaries = names(alone, 1, &binary_count);
  all = arch_count * binary_count;
  kernels = (void**)calloc(all, sizeof *kernels);
  sizes = (size_t*)calloc(all, sizeof *sizes);
  threads = (pthread_t*)calloc(count, sizeof *threads);
  numbers = (size_t*)calloc(count, sizeof *numbers);
  CHECK(all > 0 && count > 0 && kernels && sizes && threads && numbers);
  for (at = 0; at < all; at++) {
    kpack_error_t code =
        kpack_get_kernel(alone, binaries[at / arch_count], arches[at % arch_count], &kernels[at], &sizes[at]);
    CHECK(code == KPACK_SUCCESS || (code == KPACK_ERROR_KERNEL_NOT_FOUND && kernels[at] == NULL));
  }
  /* The shared archive is new: its frames are walked and its lists are made by threads that race for them. */
  CHECK(kpack_open(path, &shared) == KPACK_SUCCESS);
  CHECK(pthread_barrier_init(&start, NULL, (unsigned)count) == 0);
  for (at = 0; at < count; at++) {
    numbers[at] = at;
    CHECK(pthread_create(&threads[at], NULL, work, &numbers[at]) == 0);
  }
  for (at = 0; at < count; at++) CHECK(pthread_join(threads[at], NULL) == 0);
  kpack_close(shared);
  for (at = 0; at < all; at++) free_kernel(alone, kernels[at]);
  free_names(arches, arch_count);
  free_names(binaries, binary_count);
  kpack_close(alone);
  pthread_barrier_destroy(&start);
  free(kernels);
  free(sizes);
  free(threads);
  free(numbers);
  return 0;
}
