// Another interposer, as HAMi's and NVIDIA's for snapshots are: it replaces dlsym and cuGetProcAddress, counts
// allocations and launches, and asks for the driver's functions through the next dlsym.
#include <dlfcn.h>

#include <cstring>

#include "driver/abi.h"

#define EXPORT extern "C" __attribute__((visibility("default")))
#if defined(__x86_64__)
constexpr char kFirstGlibc[] = "GLIBC_2.2.5";
#else
constexpr char kFirstGlibc[] = "GLIBC_2.17";
#endif

EXPORT unsigned tool_allocations;
EXPORT unsigned tool_launches;
unsigned tool_allocations = 0;
unsigned tool_launches = 0;

namespace cotenant::cu {
namespace {

using Find = void* (*)(void*, const char*);
Find next_dlsym() {
  static Find found = nullptr;
  if (!found) found = reinterpret_cast<Find>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34"));
  if (!found) found = reinterpret_cast<Find>(dlvsym(RTLD_NEXT, "dlsym", kFirstGlibc));
  return found;
}

void* drivers_own(const char* name) { return next_dlsym()(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), name); }

}  // namespace

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  ++tool_allocations;
  static const auto own = reinterpret_cast<decltype(&cuMemAlloc_v2)>(drivers_own("cuMemAlloc_v2"));
  return own(pointer, bytes);
}

EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                               unsigned shared, CUstream stream, void** parameters, void** extra) {
  ++tool_launches;
  static const auto own = reinterpret_cast<decltype(&cuLaunchKernel)>(drivers_own("cuLaunchKernel"));
  return own(f, x, y, z, bx, by, bz, shared, stream, parameters, extra);
}

EXPORT CUresult cuGetProcAddress_v2(const char* name, void** found, int version, cuuint64_t flags, void* status) {
  static const auto own = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(drivers_own("cuGetProcAddress_v2"));
  const CUresult result = own(name, found, version, flags, status);
  if (std::strcmp(name, "cuMemAlloc") == 0) *found = reinterpret_cast<void*>(cuMemAlloc_v2);
  if (std::strcmp(name, "cuLaunchKernel") == 0) *found = reinterpret_cast<void*>(cuLaunchKernel);
  return result;
}

}  // namespace cotenant::cu

EXPORT void* dlsym(void* handle, const char* name) noexcept {
  using namespace cotenant::cu;
  if (std::strcmp(name, "cuMemAlloc_v2") == 0) return reinterpret_cast<void*>(cuMemAlloc_v2);
  if (std::strcmp(name, "cuLaunchKernel") == 0) return reinterpret_cast<void*>(cuLaunchKernel);
  if (std::strcmp(name, "cuGetProcAddress_v2") == 0) return reinterpret_cast<void*>(cuGetProcAddress_v2);
  return next_dlsym()(handle, name);
}
