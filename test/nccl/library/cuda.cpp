#include "cuda.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace nccl {

const Cuda& cuda() {
  static const Cuda found = [] {
    Cuda made;
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) {
      std::fprintf(stderr, "The stand-in for NCCL finds no libcuda.so.1: %s.\n", dlerror());
      std::abort();
    }
#define HOOK(symbol, parameters, arguments) \
  made.symbol = reinterpret_cast<CUresult(*) parameters>(dlsym(library, #symbol));
#define CALL HOOK
#include "driver/entries.def"
#undef HOOK
#undef CALL
    return made;
  }();
  return found;
}

}  // namespace nccl
