// Initialisation, lookup of entry points, names of errors.
#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "softgpu/driver/driver.h"
#include "softgpu/entry/say.h"
#include "softgpu/entry/symbols.h"
#include "softgpu/runtime/tables.h"

namespace cotenant::cu {

using namespace soft;

namespace {

CUresult no_device(const std::string& directory, int error) {
  static Once once;
  if (error == EUSERS) {
    say(once, "the software GPU takes at most %u processes at once: end one of them", kMaxProcesses);
  } else if (error != ENODEV) {
    char why[128];
    say(once, "the software GPU can't use its file %s/devices: %s. %s", directory.c_str(),
        strerror_r(error, why, sizeof why),
        error == ENOSPC || error == EDQUOT ? "Make room on that disk, or set COTENANT_DIR to a folder on another one"
                                           : "The folder must belong to you, and nobody else may write to it");
  }
  return CUDA_ERROR_NO_DEVICE;
}

}  // namespace

CUresult cuInit(unsigned int Flags) {
  if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Call call(Call::Needs::nothing);
  if (call.error != CUDA_SUCCESS) return call.error;
  if (call.d.exiting) return CUDA_ERROR_DEINITIALIZED;
  if (call.d.initialised) return CUDA_SUCCESS;
  call.d.settings = read_settings();
  if (!call.d.region.join(call.d.settings)) return no_device(call.d.settings.directory, errno);
  pthread_atfork(nullptr, nullptr, [] { driver().forked = true; });
  call.d.initialised = true;
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* symbolStatus) {
  if (symbol == nullptr || pfn == nullptr || flags > 3 || cudaVersion > kCudaVersion) return CUDA_ERROR_INVALID_VALUE;
  *pfn = nullptr;
  const Found found =
      find_version(symbol, cudaVersion, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, pfn);
  if (symbolStatus != nullptr) {
    *symbolStatus = found == Found::yes       ? CU_GET_PROC_ADDRESS_SUCCESS
                    : found == Found::too_old ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                              : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return found == Found::yes ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, nullptr);
}

CUresult cuDriverGetVersion(int* driverVersion) {
  if (driverVersion == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *driverVersion = kCudaVersion;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** pStr) {
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (error) {
#define RESULT(name, value, words) \
  case name: *pStr = #name; return CUDA_SUCCESS;
#include "driver/results.def"
#undef RESULT
  }
  *pStr = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** pStr) {
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (error) {
#define RESULT(name, value, words) \
  case name: *pStr = words; return CUDA_SUCCESS;
#include "driver/results.def"
#undef RESULT
  }
  *pStr = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetExportTable(const void** ppExportTable, const CUuuid* pExportTableId) {
  if (ppExportTable == nullptr || pExportTableId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *ppExportTable = runtime::find_table(*pExportTableId);
  return *ppExportTable == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

}  // namespace cotenant::cu
