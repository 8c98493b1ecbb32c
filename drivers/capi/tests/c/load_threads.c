/* load_threads REFERENCE BINARY COUNT ARCH...: many threads on one cache, which load the code objects 0 to COUNT - 1 for
 * each architecture and compare them with what a cache of their own gives. */
#include "api.h"

#define THREADS 8

static kpack_cache_t shared;
static pthread_barrier_t start;
static char* reference;
static const char* binary;
static uint32_t count;
static const char* const* arches;
static size_t arch_count;

static kpack_error_t load(kpack_cache_t cache, uint32_t index, size_t arch, void** data, size_t* size) {
  return kpack_load_code_object(cache, reference, binary, index, arches + arch, 1, data, size);
}

static void* work(void* number) {
  size_t me = *(size_t*)number, arch;
  kpack_cache_t own = NULL;
  uint32_t step;
  CHECK(kpack_cache_create(&own) == KPACK_SUCCESS);
  pthread_barrier_wait(&start);
  for (step = 0; step < count; step++) {
    uint32_t index = (step + (uint32_t)me) % count;
    for (arch = 0; arch < arch_count; arch++) {
      void *data = POISON, *expected = POISON;
      size_t size = POISON_SIZE, same = POISON_SIZE;
      kpack_error_t code = load(shared, index, arch, &data, &size);
      CHECK(load(own, index, arch, &expected, &same) == code);
      CHECK(size == same);
      if (code == KPACK_SUCCESS) {
        CHECK(memcmp(data, expected, size) == 0);
        kpack_free_code_object(data);
        kpack_free_code_object(expected);
      } else {
        CHECK(data == POISON && expected == POISON);
      }
    }
  }
  kpack_cache_destroy(own);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[THREADS];
  size_t numbers[THREADS], at, size;
  FILE* file;
  CHECK(argc >= 5);
  file = fopen(argv[1], "rb");
  reference = (char*)malloc(65536);
  CHECK(file != NULL && reference != NULL);
  size = fread(reference, 1, 65536, file);
  CHECK(size > 0);
  fclose(file);
  binary = argv[2];
  count = (uint32_t)strtoul(argv[3], NULL, 10);
  arches = (const char* const*)argv + 4;
  arch_count = (size_t)argc - 4;
  CHECK(kpack_cache_create(&shared) == KPACK_SUCCESS);
  CHECK(pthread_barrier_init(&start, NULL, THREADS) == 0);
  for (at = 0; at < THREADS; at++) {
    numbers[at] = at;
    CHECK(pthread_create(&threads[at], NULL, work, &numbers[at]) == 0);
  }
  for (at = 0; at < THREADS; at++) CHECK(pthread_join(threads[at], NULL) == 0);
  pthread_barrier_destroy(&start);
  kpack_cache_destroy(shared);
  free(reference);
  return 0;
}
