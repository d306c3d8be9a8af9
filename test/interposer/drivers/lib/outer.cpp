// A libcuda.so.1 that only loads the actual driver, as WSL's does: its own exports go there, and what it is asked for by
// cuGetProcAddress are the other's functions. With OUTER_IS_NEWER it says that it is of a later release.
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
#define cuDriverGetVersion version_of_the_inner_driver
#include "driver/entries.def"
#undef cuDriverGetVersion
#undef HOOK
#undef CALL

extern "C" __attribute__((visibility("default"))) CUresult cuDriverGetVersion(int* version) {
  const CUresult result = version_of_the_inner_driver(version);
  if (result == CUDA_SUCCESS && std::getenv("OUTER_IS_NEWER")) *version += 1000;
  return result;
}

}  // namespace cotenant::cu
