// The properties of devices.
#include <cstdio>
#include <cstring>

#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

// The state of a device; null with call.error set: there is no such device.
DeviceState* device_state(Call& call, CUdevice index) {
  if (call.error != CUDA_SUCCESS) return nullptr;
  if (!call.has_device(index)) {
    call.error = CUDA_ERROR_INVALID_DEVICE;
    return nullptr;
  }
  return &call.d.region.device(unsigned(index));
}

int attribute(CUdevice_attribute attrib, unsigned index, DeviceState& device) {
  switch (unsigned(attrib)) {
#define ATTRIBUTE(number, value) \
  case number: return value;
#include "softgpu/device/attributes.def"
#undef ATTRIBUTE
    default: return 0;
  }
}

}  // namespace

CUresult cuDeviceGetCount(int* count) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = int(call.d.region.devices());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  Call call(Call::Needs::init);
  if (device_state(call, ordinal) == nullptr) return call.error;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
  Call call(Call::Needs::init);
  if (device_state(call, dev) == nullptr) return call.error;
  if (name == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(name, std::size_t(len), "Cotenant Software GPU");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) {
  Call call(Call::Needs::init);
  const DeviceState* device = device_state(call, dev);
  if (device == nullptr) return call.error;
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(uuid->bytes, device->uuid, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) { return cuDeviceGetUuid_v2(uuid, dev); }

CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  Call call(Call::Needs::init);
  DeviceState* device = device_state(call, dev);
  if (device == nullptr) return call.error;
  if (pi == nullptr || unsigned(attrib) == 0) return CUDA_ERROR_INVALID_VALUE;
  *pi = attribute(attrib, call.d.region.place(unsigned(dev)), *device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop* prop, CUdevice dev) {
  Call call(Call::Needs::init);
  if (device_state(call, dev) == nullptr) return call.error;
  if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *prop = {1024, {1024, 1024, 64}, {2147483647, 65535, 65535}, 49152, 65536, 32, 2147483647, 65536, 1980000, 512};
  return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice dev) {
  Call call(Call::Needs::init);
  const DeviceState* device = device_state(call, dev);
  if (device == nullptr) return call.error;
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *major = int(device->compute_capability.load() / 10);
  *minor = int(device->compute_capability.load() % 10);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
  Call call(Call::Needs::init);
  if (device_state(call, dev) == nullptr) return call.error;
  if (pciBusId == nullptr || len < 13) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(pciBusId, std::size_t(len), "0000:%02X:00.0", 0x10 + call.d.region.place(unsigned(dev)));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* dev, const char* pciBusId) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (dev == nullptr || pciBusId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const char* colon = std::strchr(pciBusId, ':');  // the domain may be left out
  if (colon != nullptr && std::strchr(colon + 1, ':') != nullptr) pciBusId = colon + 1;
  unsigned bus = 0;
  if (std::sscanf(pciBusId, "%x", &bus) != 1 || bus < 0x10) return CUDA_ERROR_INVALID_DEVICE;
  for (unsigned i = 0; i < call.d.region.devices(); ++i) {
    if (call.d.region.place(i) != bus - 0x10) continue;
    *dev = CUdevice(i);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
  Call call(Call::Needs::init);
  const DeviceState* device = device_state(call, dev);
  if (device == nullptr) return call.error;
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *bytes = device->memory_total.load();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetExecAffinitySupport(int* pi, CUexecAffinityType type, CUdevice dev) {
  Call call(Call::Needs::init);
  if (device_state(call, dev) == nullptr) return call.error;
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pi = type == CU_EXEC_AFFINITY_TYPE_SM_COUNT && call.d.settings.mps;
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  Call call(Call::Needs::init);
  if (device_state(call, dev) == nullptr || device_state(call, peerDev) == nullptr) return call.error;
  if (canAccessPeer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *canAccessPeer = dev != peerDev;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attrib, CUdevice srcDevice, CUdevice dstDevice) {
  Call call(Call::Needs::init);
  if (device_state(call, srcDevice) == nullptr || device_state(call, dstDevice) == nullptr) return call.error;
  if (value == nullptr || srcDevice == dstDevice) return CUDA_ERROR_INVALID_VALUE;
  *value = attrib != CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK;
  return CUDA_SUCCESS;
}

}  // namespace cotenant::cu
