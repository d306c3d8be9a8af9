// Primary contexts: one for each device; all of the program shares it and counts references.
#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

// The device's entry; null with call.error set: there is no such device.
Driver::Primary* primary_of(Call& call, CUdevice dev) {
  if (call.error == CUDA_SUCCESS && !call.has_device(dev)) call.error = CUDA_ERROR_INVALID_DEVICE;
  return call.error == CUDA_SUCCESS ? &call.d.primary[dev] : nullptr;
}

}  // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver::Primary* primary = primary_of(call, dev);
  if (primary == nullptr) return call.error;
  if (primary->context == nullptr) {
    primary->context = make_context(call.d, unsigned(dev), primary->flags, kCudaVersion, call.error, primary->place);
    if (primary->context == nullptr) return call.error;
    primary->place = primary->context;
    primary->context->primary = true;
  }
  ++primary->references;
  *pctx = reinterpret_cast<CUcontext>(primary->context);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  Call call(Call::Needs::init);
  Driver::Primary* primary = primary_of(call, dev);
  if (primary == nullptr) return call.error;
  if (primary->references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary->references > 0) return CUDA_SUCCESS;
  Context* context = primary->context;
  primary->context = nullptr;
  destroy_context(call, context);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  Call call(Call::Needs::init);
  Driver::Primary* primary = primary_of(call, dev);
  if (primary == nullptr) return call.error;
  Context* context = primary->context;
  primary->context = nullptr;
  primary->references = 0;
  if (context != nullptr) destroy_context(call, context);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
  Call call(Call::Needs::init);
  Driver::Primary* primary = primary_of(call, dev);
  if (primary == nullptr) return call.error;
  primary->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev) { return cuDevicePrimaryCtxRelease_v2(dev); }
CUresult cuDevicePrimaryCtxReset(CUdevice dev) { return cuDevicePrimaryCtxReset_v2(dev); }
CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
  return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  Call call(Call::Needs::init);
  const Driver::Primary* primary = primary_of(call, dev);
  if (primary == nullptr) return call.error;
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = primary->flags;
  *active = primary->context != nullptr;
  return CUDA_SUCCESS;
}

}  // namespace cotenant::cu
