#pragma once
// The binary interface of the CUDA driver, in our own words: scalar types, handles, constants. Nothing here is
// needed to build but a C++ compiler; abi_check.cpp compares it with cuda.h where one is installed. Names are the
// driver's, so that its manual stays readable beside our code; only what entries.def mentions is declared.
#include <cstddef>
#include <cstdint>

namespace cotenant::cu {

using cuuint32_t = std::uint32_t;
using cuuint64_t = std::uint64_t;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUmemGenericAllocationHandle = unsigned long long;

using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUlibrary = struct CUlib_st*;
using CUkernel = struct CUkern_st*;  // launches accept one cast to CUfunction
using CUarray = struct CUarray_st*;
using CUmipmappedArray = struct CUmipmappedArray_st*;
using CUevent = struct CUevent_st*;
using CUstream = struct CUstream_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUgraphDeviceNode = struct CUgraphDeviceUpdatableNode_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;
using CUexternalSemaphore = struct CUextSemaphore_st*;
using CUgreenCtx = struct CUgreenCtx_st*;
using CUlinkState = struct CUlinkState_st*;
using CUlogsCallbackHandle = struct CUlogsCallbackEntry_st*;
using CUdevResourceDesc = struct CUdevResourceDesc_st*;

enum CUresult : unsigned {
#define RESULT(name, value, words) name = value,
#include "results.def"
#undef RESULT
};

using CUlogicalEndpointId = unsigned;
using CUgraphRecaptureCallback = CUresult (*)(void* data, CUgraphNode node, const struct CUgraphNodeParams* original,
                                              const struct CUgraphNodeParams* recaptured, unsigned status);
using CUhostFn = void (*)(void* userData);
using CUlogsCallback = void (*)(void* data, unsigned level, char* message, std::size_t length);
using CUstreamCallback = void (*)(CUstream hStream, CUresult status, void* userData);
using CUoccupancyB2DSize = std::size_t (*)(int blockSize);

// The release these declarations describe, as cuDriverGetVersion writes it.
inline constexpr int kCudaVersion = 13050;

// Two stream handles that are not pointers; 0 means one of them, depending on the family of the entry point:
// plain names mean the legacy stream, _ptds and _ptsz names the per-thread one.
inline CUstream stream_legacy() noexcept { return reinterpret_cast<CUstream>(std::uintptr_t{1}); }
inline CUstream stream_per_thread() noexcept { return reinterpret_cast<CUstream>(std::uintptr_t{2}); }

// Keys of the `extra` list of a launch, which packs all arguments into one buffer.
inline constexpr std::uintptr_t kLaunchParamEnd = 0;
inline constexpr std::uintptr_t kLaunchParamBufferPointer = 1;
inline constexpr std::uintptr_t kLaunchParamBufferSize = 2;

inline constexpr unsigned CU_MEMHOSTALLOC_PORTABLE = 1;
inline constexpr unsigned CU_MEMHOSTALLOC_DEVICEMAP = 2;
inline constexpr unsigned CU_MEMHOSTALLOC_WRITECOMBINED = 4;
inline constexpr unsigned CU_MEMHOSTREGISTER_PORTABLE = 1;
inline constexpr unsigned CU_MEMHOSTREGISTER_DEVICEMAP = 2;
inline constexpr unsigned CU_MEMHOSTREGISTER_IOMEMORY = 4;
inline constexpr unsigned CU_MEMHOSTREGISTER_READ_ONLY = 8;

}  // namespace cotenant::cu

#include "enums.h"
#include "structs.h"
