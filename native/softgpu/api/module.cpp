// Modules and libraries: loading code, and finding the functions and variables in it.
#include <algorithm>

#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

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
      std::copy(global.initial.begin(), global.initial.end(), reinterpret_cast<unsigned char*>(module.globals[i]));
    }
    if (dptr != nullptr) *dptr = module.globals[i];
    if (bytes != nullptr) *bytes = global.size;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
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

}  // namespace cotenant::cu
