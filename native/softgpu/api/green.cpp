// Green contexts: a number of SMs of the primary context, in steps of 8 as on the real device. Which SMs is not
// modelled, only how many: two partitions that together exceed the device still share it.
#include <algorithm>

#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

// CUdevResourceDesc points to this: the SMs of the resources that it was made from.
struct CUdevResourceDesc_st {
  unsigned sms;
};

namespace {

constexpr unsigned kStep = 8;  // SMs

CUdevResource resource(unsigned sms) {
  CUdevResource made{};
  made.type = CU_DEV_RESOURCE_TYPE_SM;
  made.sm.smCount = sms;
  made.sm.minSmPartitionSize = kStep;
  made.sm.smCoscheduledAlignment = kStep;
  return made;
}

GreenContext* resolve(Call& call, CUgreenCtx handle) {
  if (call.error != CUDA_SUCCESS) return nullptr;
  const auto found = call.d.greens.find(object<GreenContext>(handle));
  if (found == call.d.greens.end()) call.error = CUDA_ERROR_INVALID_HANDLE;
  else if (!found->second->context->alive) call.error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return call.error == CUDA_SUCCESS ? found->second.get() : nullptr;
}

}  // namespace

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* result, CUdevResourceType type) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (!call.has_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  *result = resource(call.d.region.device(unsigned(device)).sms.load());
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevResource(CUcontext hCtx, CUdevResource* result, CUdevResourceType type) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  const auto* context = object<Context>(hCtx);
  if (call.d.contexts.count(const_cast<Context*>(context)) == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  *result = resource(context->sm_limit != 0 ? context->sm_limit : call.d.region.device(context->device).sms.load());
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource* result, CUdevResourceType type) {
  Call call(Call::Needs::init);
  const GreenContext* green = resolve(call, hCtx);
  if (green == nullptr) return call.error;
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  *result = resource(green->sms);
  return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned int* nbGroups, const CUdevResource* input,
                                     CUdevResource* remaining, unsigned int, unsigned int minCount) {
  if (nbGroups == nullptr || input == nullptr || input->type != CU_DEV_RESOURCE_TYPE_SM) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const unsigned each = std::max(kStep, (minCount + kStep - 1) / kStep * kStep);
  const unsigned possible = input->sm.smCount / each;
  if (possible == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  const unsigned groups = result == nullptr ? possible : std::min(*nbGroups, possible);
  for (unsigned i = 0; result != nullptr && i < groups; ++i) result[i] = resource(each);
  *nbGroups = groups;
  if (remaining != nullptr) {
    const unsigned rest = input->sm.smCount - groups * each;
    *remaining = rest == 0 ? CUdevResource{} : resource(rest);
  }
  return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* phDesc, CUdevResource* resources, unsigned int nbResources) {
  if (phDesc == nullptr || resources == nullptr || nbResources == 0) return CUDA_ERROR_INVALID_VALUE;
  unsigned sms = 0;
  for (unsigned i = 0; i < nbResources; ++i) {
    if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    sms += resources[i].sm.smCount;
  }
  *phDesc = new CUdevResourceDesc_st{sms};  // the interface has no call that frees it
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx* phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags) {
  if (phCtx == nullptr || desc == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
  CUcontext primary = nullptr;
  const CUresult error = cuDevicePrimaryCtxRetain(&primary, dev);
  if (error != CUDA_SUCCESS) return error;
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  auto made = std::make_unique<GreenContext>();
  auto* context = new Context;
  context->root = object<Context>(primary);
  context->device = unsigned(dev);
  context->id = ++call.d.ids;
  context->sm_limit = std::min(desc->sms, call.d.region.device(unsigned(dev)).sms.load());
  call.d.contexts.insert(context);
  made->context = context;
  made->sms = context->sm_limit;
  *phCtx = reinterpret_cast<CUgreenCtx>(made.get());
  call.d.greens[made.get()] = std::move(made);
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx hCtx) {
  CUdevice device = 0;
  {
    Call call(Call::Needs::init);
    GreenContext* green = resolve(call, hCtx);
    if (green == nullptr) return call.error;
    Context* context = green->context;
    std::vector<Ticket> tickets;
    for (const auto& stream : context->root->streams) {
      if (stream->context == context && !stream->is_idle()) tickets.push_back(stream->last());
    }
    call.wait(std::move(tickets));
    context->alive = false;
    device = CUdevice(context->device);
    call.d.greens.erase(green);
  }
  return cuDevicePrimaryCtxRelease_v2(device);
}

CUresult cuCtxFromGreenCtx(CUcontext* pContext, CUgreenCtx hCtx) {
  Call call(Call::Needs::init);
  const GreenContext* green = resolve(call, hCtx);
  if (green == nullptr) return call.error;
  if (pContext == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pContext = reinterpret_cast<CUcontext>(green->context);
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream* phStream, CUgreenCtx greenCtx, unsigned int flags, int priority) {
  Call call(Call::Needs::init);
  const GreenContext* green = resolve(call, greenCtx);
  if (green == nullptr) return call.error;
  if (phStream == nullptr || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = make_stream(call.d, *green->context, flags, priority);
  call.d.streams[stream->handle] = stream;
  *phStream = stream->handle;
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent) {
  CUcontext context = nullptr;
  const CUresult error = cuCtxFromGreenCtx(&context, hCtx);
  return error != CUDA_SUCCESS ? error : cuCtxRecordEvent(context, hEvent);
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent) {
  CUcontext context = nullptr;
  const CUresult error = cuCtxFromGreenCtx(&context, hCtx);
  return error != CUDA_SUCCESS ? error : cuCtxWaitEvent(context, hEvent);
}

}  // namespace cotenant::cu
