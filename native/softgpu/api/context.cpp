// Contexts, and which one is current in a thread.
#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

CUcontext handle(Context* context) { return reinterpret_cast<CUcontext>(context); }

// The context that a handle names, if it may be used. A null handle names the current context.
Context* resolve(Call& call, CUcontext ctx) {
  if (call.error != CUDA_SUCCESS) return nullptr;
  Context* context = ctx == nullptr ? call.context : object<Context>(ctx);
  if (context == nullptr || call.d.contexts.count(context) == 0) call.error = CUDA_ERROR_INVALID_CONTEXT;
  else if (!context->alive) call.error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return call.error == CUDA_SUCCESS ? context : nullptr;
}

CUresult create(CUcontext* pctx, unsigned flags, CUdevice dev, unsigned sms) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!call.has_device(dev)) return CUDA_ERROR_INVALID_DEVICE;
  Context* context = make_context(call.d, unsigned(dev), flags, kCudaVersion, call.error);
  if (context == nullptr) return call.error;
  if (sms != 0) context->sm_limit = sms;
  thread_state().stack.push_back(context);
  *pctx = handle(context);
  return CUDA_SUCCESS;
}

CUresult create(CUcontext* pctx, const CUexecAffinityParam* affinity, int count, unsigned flags, CUdevice dev) {
  unsigned sms = 0;
  for (int i = 0; i < count; ++i) {
    if (affinity[i].type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    if (!driver().settings.mps) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    sms = affinity[i].param.smCount.val;
  }
  return create(pctx, flags, dev, sms);
}

CUresult synchronize(Call& call, Context* context) {
  Context& root = *context->root;
  bool capturing = false;
  for (const auto& capture : call.d.captures) {
    if (capture->origin->context->root != &root) continue;
    capture->broken = true;
    capturing = true;
  }
  if (capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  call.wait(everything(root));
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) { return create(pctx, flags, dev, 0); }

CUresult cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam* paramsArray, int numParams, unsigned int flags,
                        CUdevice dev) {
  return create(pctx, paramsArray, numParams, flags, dev);
}

CUresult cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams* ctxCreateParams, unsigned int flags, CUdevice dev) {
  if (ctxCreateParams == nullptr) return create(pctx, flags, dev, 0);
  if (ctxCreateParams->cigParams != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return create(pctx, ctxCreateParams->execAffinityParams, ctxCreateParams->numExecAffinityParams, flags, dev);
}

CUresult cuCtxCreate(CUcontext* pctx, unsigned int flags, CUdevice dev) { return cuCtxCreate_v2(pctx, flags, dev); }

CUresult cuCtxDestroy_v2(CUcontext ctx) {
  Call call(Call::Needs::init);
  Context* context = ctx == nullptr ? nullptr : resolve(call, ctx);
  if (context == nullptr) return call.error == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : call.error;
  if (context->root != context || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  auto& stack = thread_state().stack;
  if (!stack.empty() && stack.back() == context) stack.pop_back();
  destroy_context(call, context);
  return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext ctx) { return cuCtxDestroy_v2(ctx); }
CUresult cuCtxDetach(CUcontext ctx) {
  return cuCtxDestroy_v2(ctx);
}  // cuCtxAttach() is not offered, so nobody is attached

CUresult cuCtxSynchronize() {
  Call call;
  return call.error != CUDA_SUCCESS ? call.error : synchronize(call, call.context);
}

CUresult cuCtxSynchronize_v2(CUcontext ctx) {
  Call call(Call::Needs::init);
  Context* context = resolve(call, ctx);
  return context == nullptr ? call.error : synchronize(call, context);
}

CUresult cuCtxGetCurrent(CUcontext* pctx) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pctx = handle(call.context);
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  auto& stack = thread_state().stack;
  if (ctx == nullptr) {
    if (!stack.empty()) stack.pop_back();
    return CUDA_SUCCESS;
  }
  Context* context = resolve(call, ctx);
  if (context == nullptr) return call.error;
  if (stack.empty()) stack.push_back(context);
  else stack.back() = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
  Call call(Call::Needs::init);
  Context* context = resolve(call, ctx);
  if (context == nullptr) return call.error;
  thread_state().stack.push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext* pctx) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  auto& stack = thread_state().stack;
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (pctx != nullptr) *pctx = handle(stack.back());
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext ctx) { return cuCtxPushCurrent_v2(ctx); }
CUresult cuCtxPopCurrent(CUcontext* pctx) { return cuCtxPopCurrent_v2(pctx); }

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext ctx) {
  Call call(Call::Needs::init);
  const Context* context = resolve(call, ctx);
  if (context == nullptr) return call.error;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = CUdevice(context->device);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) { return cuCtxGetDevice_v2(device, nullptr); }

CUresult cuCtxGetId(CUcontext ctx, unsigned long long* ctxId) {
  Call call(Call::Needs::init);
  const Context* context = resolve(call, ctx);
  if (context == nullptr) return call.error;
  if (ctxId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *ctxId = context->id;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int* flags) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = call.context->flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  call.context->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int* version) {
  Call call(Call::Needs::init);
  const Context* context = resolve(call, ctx);
  if (context == nullptr) return call.error;
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = context->api_version;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  if (leastPriority != nullptr) *leastPriority = 0;
  if (greatestPriority != nullptr) *greatestPriority = -5;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  if (pvalue == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (unsigned(limit) >= 16) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  *pvalue = call.context->limits[limit];
  return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  if (unsigned(limit) >= 16) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  call.context->limits[limit] = value;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* pconfig) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  if (pconfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pconfig = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache) { return Call().error; }
CUresult cuCtxResetPersistingL2Cache() { return Call().error; }
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned int) { return Call().error; }
CUresult cuCtxDisablePeerAccess(CUcontext) { return Call().error; }

CUresult cuCtxGetExecAffinity(CUexecAffinityParam* pExecAffinity, CUexecAffinityType type) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  if (pExecAffinity == nullptr || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
  const unsigned limit = call.context->sm_limit;
  pExecAffinity->type = type;
  pExecAffinity->param.smCount.val = limit != 0 ? limit : call.d.region.device(call.context->device).sms.load();
  return CUDA_SUCCESS;
}

}  // namespace cotenant::cu
