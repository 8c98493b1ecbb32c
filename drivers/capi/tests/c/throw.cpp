// throw ARCHIVE: an exception of the callback's reaches the caller, and the library is of use afterwards.
#include "api.h"

#include <stdexcept>
#include <string>

static bool thrower(const char* arch, void*) { throw std::runtime_error(arch); }

int main(int argc, char** argv) {
  CHECK(argc == 2);
  for (int round = 0; round < 3; round++) {
    std::string caught;
    try {
      kpack_enumerate_architectures(argv[1], thrower, nullptr);
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    CHECK(caught.rfind("gfx", 0) == 0);
  }
  kpack_archive_t archive = nullptr;
  CHECK(kpack_open(argv[1], &archive) == KPACK_SUCCESS);
  kpack_close(archive);
  return 0;
}
