// Modules, libraries, functions: loading code and asking about it.
#include <algorithm>

#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

template <class T>
T* known(Call& call, const std::unordered_set<T*>& all, void* handle) {
  if (call.error != CUDA_SUCCESS) return nullptr;
  auto* found = static_cast<T*>(handle);
  if (all.count(found) == 0) call.error = CUDA_ERROR_INVALID_HANDLE;
  return call.error == CUDA_SUCCESS ? found : nullptr;
}

Module* known_module(Call& call, void* handle) {
  if (call.error != CUDA_SUCCESS) return nullptr;
  const auto found = call.d.modules.find(static_cast<Module*>(handle));
  if (found == call.d.modules.end()) call.error = CUDA_ERROR_INVALID_HANDLE;
  return call.error == CUDA_SUCCESS ? found->first : nullptr;
}

CUresult find_global(Call& call, Module& module, const char* name, CUdeviceptr* dptr, size_t* bytes) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < module.globals.size(); ++i) {
    const ptx::Global& global = module.program.globals[i];
    if (global.name != name) continue;
    if (module.globals[i] == 0) {
      const CUresult error = call.d.memory.allocate(Allocation::Kind::device, global.size, call.context->device,
                                                    nullptr, nullptr, &module.globals[i]);
      if (error != CUDA_SUCCESS) return error;
    }
    if (dptr != nullptr) *dptr = module.globals[i];
    if (bytes != nullptr) *bytes = global.size;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult attribute_of(const Function& function, CUfunction_attribute attrib, int* pi) {
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pi = 0;
  switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *pi = int(function.entry->max_threads); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *pi = int(function.entry->shared_bytes); break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *pi = 32; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *pi = int(function.module->program.version); break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *pi = int(function.module->program.target); break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *pi = function.dynamic_shared_limit; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *pi = function.carveout; break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *pi = int(function.non_portable_clusters); break;
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
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult parameter_info(const Function& function, size_t index, size_t* offset, size_t* size) {
  if (index >= function.entry->parameters.size() || offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *offset = function.entry->parameters[index].offset;
  if (size != nullptr) *size = function.entry->parameters[index].size;
  return CUDA_SUCCESS;
}

CUresult get_function(Call& call, void* module, const char* name, void** out) {
  Module* found = known_module(call, module);
  if (found == nullptr) return call.error;
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = find_function(*found, name);
  return *out == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult count_functions(unsigned* count, void* module) {
  Call call(Call::Needs::init);
  const Module* found = known_module(call, module);
  if (found == nullptr) return call.error;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = unsigned(found->functions.size());
  return CUDA_SUCCESS;
}

template <class H>
CUresult list_functions(H* functions, unsigned room, void* module) {
  Call call(Call::Needs::init);
  const Module* found = known_module(call, module);
  if (found == nullptr) return call.error;
  if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < room && i < found->functions.size(); ++i)
    functions[i] = reinterpret_cast<H>(found->functions[i].get());
  return CUDA_SUCCESS;
}

CUresult load(CUmodule* module, const void* image, const char* path) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Module* made = nullptr;
  const CUresult error =
      path != nullptr ? load_file(path, call.context->root, &made) : load_module(image, call.context->root, &made);
  *module = reinterpret_cast<CUmodule>(made);
  return error;
}

CUresult load_library(CUlibrary* library, const void* code, const char* path) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Module* made = nullptr;
  const CUresult error = path != nullptr ? load_file(path, nullptr, &made) : load_module(code, nullptr, &made);
  *library = reinterpret_cast<CUlibrary>(made);
  return error;
}

CUresult unload(void* module) {
  Call call(Call::Needs::init);
  Module* found = known_module(call, module);
  if (found != nullptr) unload_module(found);
  return call.error;
}

CUresult name_of(const char** name, void* function) {
  Call call(Call::Needs::init);
  const Function* found = known(call, call.d.functions, function);
  if (found == nullptr) return call.error;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = found->name;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuModuleLoad(CUmodule* module, const char* fname) {
  return load(module, nullptr, fname == nullptr ? "" : fname);
}
CUresult cuModuleLoadData(CUmodule* module, const void* image) { return load(module, image, nullptr); }
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, CUjit_option*, void**) {
  return load(module, image, nullptr);
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) { return load(module, fatCubin, nullptr); }
CUresult cuModuleUnload(CUmodule hmod) { return unload(hmod); }
CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule mod) { return count_functions(count, mod); }
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int numFunctions, CUmodule mod) {
  return list_functions(functions, numFunctions, mod);
}

CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  Call call;
  return get_function(call, hmod, name, reinterpret_cast<void**>(hfunc));
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod, const char* name) {
  Call call;
  Module* module = known_module(call, hmod);
  return module == nullptr ? call.error : find_global(call, *module, name, dptr, bytes);
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned int, CUlibraryOption*,
                           void**, unsigned int) {
  return load_library(library, code, nullptr);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* fileName, CUjit_option*, void**, unsigned int,
                               CUlibraryOption*, void**, unsigned int) {
  return load_library(library, nullptr, fileName == nullptr ? "" : fileName);
}

CUresult cuLibraryUnload(CUlibrary library) { return unload(library); }
CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary lib) { return count_functions(count, lib); }
CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int numKernels, CUlibrary lib) {
  return list_functions(kernels, numKernels, lib);
}

CUresult cuLibraryGetKernel(CUkernel* pKernel, CUlibrary library, const char* name) {
  Call call(Call::Needs::init);
  return get_function(call, library, name, reinterpret_cast<void**>(pKernel));
}

CUresult cuLibraryGetModule(CUmodule* pMod, CUlibrary library) {
  Call call;
  Module* module = known_module(call, library);
  if (module == nullptr) return call.error;
  if (pMod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pMod = reinterpret_cast<CUmodule>(module);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  Call call;
  Module* module = known_module(call, library);
  return module == nullptr ? call.error : find_global(call, *module, name, dptr, bytes);
}

CUresult cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
  Call call;
  Function* function = known(call, call.d.functions, kernel);
  if (function == nullptr) return call.error;
  if (pFunc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pFunc = reinterpret_cast<CUfunction>(function);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary* pLib, CUkernel kernel) {
  Call call(Call::Needs::init);
  const Function* function = known(call, call.d.functions, kernel);
  if (function == nullptr) return call.error;
  if (pLib == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pLib = reinterpret_cast<CUlibrary>(function->module);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char** name, CUkernel hfunc) { return name_of(name, hfunc); }
CUresult cuFuncGetName(const char** name, CUfunction hfunc) { return name_of(name, hfunc); }

CUresult cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice) {
  Call call(Call::Needs::init);
  const Function* function = known(call, call.d.functions, kernel);
  return function == nullptr ? call.error : attribute_of(*function, attrib, pi);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice) {
  Call call(Call::Needs::init);
  Function* function = known(call, call.d.functions, kernel);
  return function == nullptr ? call.error : set_attribute(*function, attrib, val);
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  Call call(Call::Needs::init);
  const Function* function = known(call, call.d.functions, kernel);
  return function == nullptr ? call.error : parameter_info(*function, paramIndex, paramOffset, paramSize);
}

CUresult cuKernelSetCacheConfig(CUkernel, CUfunc_cache, CUdevice) { return Call(Call::Needs::init).error; }
CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return Call().error; }
CUresult cuFuncSetSharedMemConfig(CUfunction, CUsharedconfig) { return Call().error; }

CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  Call call(Call::Needs::init);
  const Function* function = known(call, call.d.functions, hfunc);
  return function == nullptr ? call.error : attribute_of(*function, attrib, pi);
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  Call call(Call::Needs::init);
  Function* function = known(call, call.d.functions, hfunc);
  return function == nullptr ? call.error : set_attribute(*function, attrib, value);
}

CUresult cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
  Call call(Call::Needs::init);
  const Function* function = known(call, call.d.functions, hfunc);
  if (function == nullptr) return call.error;
  if (hmod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *hmod = reinterpret_cast<CUmodule>(function->module);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  Call call(Call::Needs::init);
  const Function* function = known(call, call.d.functions, func);
  return function == nullptr ? call.error : parameter_info(*function, paramIndex, paramOffset, paramSize);
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  Call call(Call::Needs::init);
  if (known(call, call.d.functions, function) == nullptr) return call.error;
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function) {
  Call call(Call::Needs::init);
  known(call, call.d.functions, function);
  return call.error;
}

}  // namespace cotenant::cu
