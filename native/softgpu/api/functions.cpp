// Functions and kernels: what they are called, their attributes and their parameters.
#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

Function* resolve(Call& call, void* handle) {
  if (call.error != CUDA_SUCCESS) return nullptr;
  auto* found = static_cast<Function*>(handle);
  if (call.d.functions.count(found) == 0) call.error = CUDA_ERROR_INVALID_HANDLE;
  return call.error == CUDA_SUCCESS ? found : nullptr;
}

CUresult attribute_of(const Function& function, CUfunction_attribute attrib, int* pi) {
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pi = 0;
  switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *pi = int(function.entry->max_threads); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *pi = int(function.entry->shared_bytes); break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *pi = int(function.entry->registers); break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *pi = int(function.module->program.version); break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *pi = int(function.module->program.target); break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *pi = function.dynamic_shared_limit; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *pi = function.carveout; break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *pi = int(function.non_portable_clusters); break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: *pi = function.cluster_width; break;
    default:
      if (unsigned(attrib) > CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult set_attribute(Function& function, CUfunction_attribute attrib, int value) {
  switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value > 232448) return CUDA_ERROR_INVALID_VALUE;
      function.dynamic_shared_limit = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: function.carveout = value; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      function.non_portable_clusters = value != 0;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      if (value < 0) return CUDA_ERROR_INVALID_VALUE;
      function.cluster_width = value;
      return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult parameter_info(const Function& function, size_t index, size_t* offset, size_t* size) {
  if (index >= function.entry->parameters.size() || offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *offset = function.entry->parameters[index].offset;
  if (size != nullptr) *size = function.entry->parameters[index].size;
  return CUDA_SUCCESS;
}

CUresult name_of(const char** name, void* function) {
  Call call(Call::Needs::init);
  const Function* found = resolve(call, function);
  if (found == nullptr) return call.error;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = found->name;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
  Call call;
  Function* function = resolve(call, kernel);
  if (function == nullptr) return call.error;
  if (pFunc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pFunc = reinterpret_cast<CUfunction>(function);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary* pLib, CUkernel kernel) {
  Call call(Call::Needs::init);
  const Function* function = resolve(call, kernel);
  if (function == nullptr) return call.error;
  if (pLib == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pLib = reinterpret_cast<CUlibrary>(function->module);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char** name, CUkernel hfunc) { return name_of(name, hfunc); }
CUresult cuFuncGetName(const char** name, CUfunction hfunc) { return name_of(name, hfunc); }

CUresult cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice) {
  Call call(Call::Needs::init);
  const Function* function = resolve(call, kernel);
  return function == nullptr ? call.error : attribute_of(*function, attrib, pi);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice) {
  Call call(Call::Needs::init);
  Function* function = resolve(call, kernel);
  return function == nullptr ? call.error : set_attribute(*function, attrib, val);
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  Call call(Call::Needs::init);
  const Function* function = resolve(call, kernel);
  return function == nullptr ? call.error : parameter_info(*function, paramIndex, paramOffset, paramSize);
}

CUresult cuKernelSetCacheConfig(CUkernel, CUfunc_cache, CUdevice) { return Call(Call::Needs::init).error; }
CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return Call().error; }
CUresult cuFuncSetSharedMemConfig(CUfunction, CUsharedconfig) { return Call().error; }

CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  Call call(Call::Needs::init);
  const Function* function = resolve(call, hfunc);
  return function == nullptr ? call.error : attribute_of(*function, attrib, pi);
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  Call call(Call::Needs::init);
  Function* function = resolve(call, hfunc);
  return function == nullptr ? call.error : set_attribute(*function, attrib, value);
}

CUresult cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
  Call call(Call::Needs::init);
  const Function* function = resolve(call, hfunc);
  if (function == nullptr) return call.error;
  if (hmod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *hmod = reinterpret_cast<CUmodule>(function->module);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  Call call(Call::Needs::init);
  const Function* function = resolve(call, func);
  return function == nullptr ? call.error : parameter_info(*function, paramIndex, paramOffset, paramSize);
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  Call call(Call::Needs::init);
  if (resolve(call, function) == nullptr) return call.error;
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function) {
  Call call(Call::Needs::init);
  resolve(call, function);
  return call.error;
}

}  // namespace cotenant::cu
