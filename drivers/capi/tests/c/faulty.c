/* faulty leak|read|none: a program that is wrong on purpose, so that a checker shows that it looks. */
#include "api.h"

int main(int argc, char** argv) {
  volatile char* memory = (volatile char*)malloc(8);
  CHECK(argc == 2 && memory != NULL);
  memory[0] = 1;
  if (strcmp(argv[1], "read") == 0 && memory[8] == 7) printf("seven\n");
  if (strcmp(argv[1], "leak") == 0) {
    memory = NULL;
  } else {
    free((void*)memory);
  }
  kpack_close(NULL);
  return 0;
}
