// Loading and unloading of code. A best-effort client's PTX is stored, in case one of its kernels proves long.
#pragma once

#include "interposer/calls/behaviour.h"
#include "interposer/kernels/ranks.h"
#include "interposer/variants/ptx_images.h"
#include "interposer/variants/variants.h"

namespace cotenant {

template <Entry E>
struct ModuleLoad {
  template <class... More>
  static cu::CUresult call(cu::CUmodule* module, const void* image, More... more) noexcept {
    const cu::CUresult result = driver_call<E>(module, image, more...);
    if (result == cu::CUDA_SUCCESS && role() == Role::kBestEffort) image_loaded(*module, false, image);
    return result;
  }
};

template <Entry E>
struct LibraryLoad {
  template <class... More>
  static cu::CUresult call(cu::CUlibrary* library, const void* image, More... more) noexcept {
    const cu::CUresult result = driver_call<E>(library, image, more...);
    if (result == cu::CUDA_SUCCESS && role() == Role::kBestEffort) image_loaded(*library, true, image);
    return result;
  }
};

// The driver tells a function's module, which is the library's module in the current context. It does not tell the library.
inline void forget_module_of(cu::CUmodule) noexcept {}
inline void forget_module_of(cu::CUlibrary library) noexcept {
  cu::CUmodule module = nullptr;
  const bool asks = variants_wanted.load(std::memory_order_relaxed) > 0 && real().cuLibraryGetModule;
  if (asks && real().cuLibraryGetModule(&module, library) == cu::CUDA_SUCCESS) forget_variants_of(module);
}

template <Entry E>
struct Unload {
  template <class Owner>
  static cu::CUresult call(Owner owner) noexcept {
    if (role() == Role::kBestEffort) {
      forget_variants_of(owner);
      forget_module_of(owner);
      image_unloaded(owner);
    }
    return driver_call<E>(owner);
  }
};

template <Entry E>
struct KernelLookup {
  template <class Kernel, class Code>
  static cu::CUresult call(Kernel* kernel, Code code, const char* name) noexcept {
    if (role() == Role::kHigh) look_for_ranks_in(name);
    return driver_call<E>(kernel, code, name);
  }
};

BEHAVES(cuModuleLoadData, ModuleLoad)
BEHAVES(cuModuleLoadDataEx, ModuleLoad)
BEHAVES(cuModuleLoadFatBinary, ModuleLoad)
BEHAVES(cuModuleUnload, Unload)
BEHAVES(cuLibraryLoadData, LibraryLoad)
BEHAVES(cuLibraryUnload, Unload)
BEHAVES(cuModuleGetFunction, KernelLookup)
BEHAVES(cuLibraryGetKernel, KernelLookup)

}  // namespace cotenant
