#include "interposer/parking/free_memory.h"

#include <dlfcn.h>

#include <cstdio>

#include "interposer/lookup/libc.h"

namespace cotenant {
namespace {

// Declarations from nvml.h: nvmlMemory_t, and functions that return 0 for success.
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct Nvml {
  int (*init)();
  int (*device)(const char* uuid, void** device);
  int (*memory)(void* device, NvmlMemory* memory);
};

template <class Function>
bool find(void* library, const char* name, Function& into) noexcept {
  const Dlsym dlsym_of = real_dlsym();
  into = library && dlsym_of ? reinterpret_cast<Function>(dlsym_of(library, name)) : nullptr;
  return into != nullptr;
}

bool find_all(void* library, Nvml& into) noexcept {
  return find(library, "nvmlInit_v2", into.init) && find(library, "nvmlDeviceGetHandleByUUID", into.device) &&
         find(library, "nvmlDeviceGetMemoryInfo", into.memory);
}

bool open_nvml(Nvml& into) noexcept {
  // The software GPU's driver has these functions itself.
  const bool there = find_all(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), into) ||
                     find_all(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), into);
  return there && into.init() == 0;
}

// Only the parking thread comes here.
const Nvml* nvml() noexcept {
  static Nvml found{};
  static bool tried = false;
  static bool there = false;
  if (!tried) there = open_nvml(found);
  tried = true;
  return there ? &found : nullptr;
}

}  // namespace

bool read_gpu_memory(const Uuid& gpu, GpuMemory& into) noexcept {
  unsigned char bytes[16];
  gpu.write(bytes);
  char text[48] = "GPU-";
  char* at = text + 4;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
    at += std::snprintf(at, 3, "%02x", bytes[i]);
  }
  void* device = nullptr;
  NvmlMemory memory{};
  const Nvml* library = nvml();
  if (!library || library->device(text, &device) != 0 || library->memory(device, &memory) != 0) return false;
  into = {memory.total, memory.free};
  return true;
}

}  // namespace cotenant
