/* load REFERENCE BINARY INDEX ARCH...: loads a code object; on stdout its code, a newline and, if it could be loaded, its
 * bytes. The reference is a file's content, which stands in memory of exactly its length. */
#include "api.h"

static void* content(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  long end;
  void* bytes;
  CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
  end = ftell(file);
  CHECK(end >= 0 && fseek(file, 0, SEEK_SET) == 0);
  *size = (size_t)end;
  bytes = malloc(*size);
  CHECK(bytes != NULL && fread(bytes, 1, *size, file) == *size);
  fclose(file);
  return bytes;
}

int main(int argc, char** argv) {
  kpack_cache_t cache = NULL;
  void *reference, *data = POISON, *again = POISON;
  size_t length, size = POISON_SIZE, same = POISON_SIZE;
  uint32_t index;
  const char* const* arches = (const char* const*)argv + 4;
  kpack_error_t code;
  CHECK(argc >= 4);
  reference = content(argv[1], &length);
  index = (uint32_t)strtoul(argv[3], NULL, 10);
  CHECK(kpack_cache_create(&cache) == KPACK_SUCCESS && cache != NULL);
  code = kpack_load_code_object(cache, reference, argv[2], index, arches, (size_t)argc - 4, &data, &size);
  printf("%d\n", (int)code);
  /* What is cached now gives the same. */
  CHECK(kpack_load_code_object(cache, reference, argv[2], index, arches, (size_t)argc - 4, &again, &same) == code);
  kpack_cache_destroy(cache);
  free(reference);
  if (code == KPACK_SUCCESS) {
    CHECK(data != POISON && again != data && size == same && memcmp(data, again, size) == 0);
    CHECK(fwrite(data, 1, size, stdout) == size);
    kpack_free_code_object(data);
    free(again);
  } else {
    CHECK(data == POISON && size == POISON_SIZE && again == POISON && same == POISON_SIZE);
  }
  CHECK(fflush(stdout) == 0);
  return 0;
}
