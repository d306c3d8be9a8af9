// The CUDA driver, found at run time: the probe links against nothing of NVIDIA's, so it builds on
// a machine without a GPU. Names are the ABI's (cuda.h maps cuMemAlloc to cuMemAlloc_v2 by macro).
#pragma once
#include <cuda.h>

#include <stdexcept>

// clang-format off
#define DRIVER_FUNCTIONS(FN)                                                                        \
  FN(cuInit) FN(cuDriverGetVersion) FN(cuDeviceGet) FN(cuDeviceGetName) FN(cuDeviceGetAttribute)    \
  FN(cuGetErrorName) FN(cuDevicePrimaryCtxRetain) FN(cuDevicePrimaryCtxSetFlags_v2)                 \
  FN(cuDevicePrimaryCtxRelease_v2) FN(cuCtxSetCurrent) FN(cuCtxGetCurrent) FN(cuCtxSynchronize)     \
  FN(cuModuleLoadData) FN(cuModuleGetFunction) FN(cuLaunchKernel)                                   \
  FN(cuMemAlloc_v2) FN(cuMemFree_v2) FN(cuMemsetD8_v2) FN(cuMemGetInfo_v2) FN(cuMemcpyDtoH_v2)      \
  FN(cuMemHostRegister_v2) FN(cuMemHostUnregister) FN(cuMemHostGetDevicePointer_v2)                 \
  FN(cuMemHostAlloc) FN(cuStreamCreate) FN(cuStreamDestroy_v2) FN(cuStreamSynchronize)              \
  FN(cuStreamQuery) FN(cuStreamIsCapturing) FN(cuStreamWaitValue32_v2) FN(cuStreamWriteValue32_v2)  \
  FN(cuStreamBatchMemOp_v2) FN(cuStreamBeginCapture_v2) FN(cuStreamEndCapture)                      \
  FN(cuEventCreate) FN(cuEventDestroy_v2) FN(cuEventRecord) FN(cuEventQuery)                        \
  FN(cuEventElapsedTime_v2) FN(cuGraphCreate) FN(cuGraphDestroy) FN(cuGraphAddKernelNode_v2)        \
  FN(cuGraphAddBatchMemOpNode) FN(cuGraphDestroyNode) FN(cuGraphInstantiateWithFlags)               \
  FN(cuGraphLaunch) FN(cuGraphExecDestroy)
// clang-format on

struct Driver {
#define FN(name) decltype(&::name) name = nullptr;
  DRIVER_FUNCTIONS(FN)
#undef FN
  void load();  // throws if libcuda.so.1 or one of its functions is missing
};
extern Driver cu;

struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
const char* error_name(CUresult code);
inline const char* outcome(CUresult code) { return code == CUDA_SUCCESS ? "ok" : error_name(code); }
void check(CUresult code, const char* call);
#define CU(call) check(cu.call, #call)

// burn(iterations, ticket, mark, value): dependent multiply-adds, so work that was preempted makes no
// progress. With a ticket (device word, 0 at start) the last block to finish stores `value` at `mark`.
// tiny(mark, value): stores `value` at `mark`, if given. spin_ns(ns, out): until %globaltimer moved on
// by ns; out, if given, gets the smallest step seen.
extern const char kPtx[];
