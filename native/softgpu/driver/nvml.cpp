// The functions of NVML that a client asks while its process is checkpointed. There is no libnvidia-ml.so.1 beside the software GPU.
#include "softgpu/driver/driver.h"

namespace cotenant::soft {

struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

constexpr int kSuccess = 0;
constexpr int kNotFound = 6;

}  // namespace cotenant::soft

using namespace cotenant::soft;

extern "C" {

__attribute__((visibility("default"))) int nvmlInit_v2() { return kSuccess; }

__attribute__((visibility("default"))) int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  const Call call(Call::Needs::nothing);
  for (unsigned i = 0; call.d.initialised && i < call.d.region.shared().devices.load(); ++i) {
    if (uuid_text(call.d.region.device(i).uuid) != uuid) continue;
    *device = &call.d.region.device(i);
    return kSuccess;
  }
  return kNotFound;
}

__attribute__((visibility("default"))) int nvmlDeviceGetMemoryInfo(void* device, NvmlMemory* memory) {
  const Call call(Call::Needs::nothing);
  for (unsigned i = 0; i < call.d.region.shared().devices.load(); ++i) {
    if (device != &call.d.region.device(i)) continue;
    memory->total = call.d.region.device(i).memory_total.load();
    memory->used = call.d.region.used_bytes(i);
    memory->free = memory->total - memory->used;
    return kSuccess;
  }
  return kNotFound;
}

}  // extern "C"
