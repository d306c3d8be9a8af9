// A libcuda.so.1 that only loads the actual driver, as WSL's does: its own exports go there, and what it is asked for by
// cuGetProcAddress are the other's functions.
#include <dlfcn.h>

#include <cstdlib>

#include "driver/abi.h"

namespace cotenant::cu {
namespace {

void* inner() {
  static void* const library = dlopen(std::getenv("INNER_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  return library;
}

}  // namespace

#define HOOK(symbol, parameters, arguments)                                                                    \
  extern "C" __attribute__((visibility("default"))) CUresult symbol parameters {                               \
    static const auto in_the_inner_driver = reinterpret_cast<CUresult(*) parameters>(dlsym(inner(), #symbol)); \
    return in_the_inner_driver ? in_the_inner_driver arguments : CUDA_ERROR_NOT_FOUND;                         \
  }
#define CALL HOOK
#include "driver/entries.def"
#undef HOOK
#undef CALL

}  // namespace cotenant::cu
