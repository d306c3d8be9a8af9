#pragma once
// Structures of the driver's interface, with its layout: abi_check.cpp compares sizes and offsets with cuda.h.
// Included by abi.h. A type without a version suffix has today's layout.

namespace cotenant::cu {

struct CUuuid {
  char bytes[16];
};

// --- launches -------------------------------------------------------------------------------------------------

struct CUaccessPolicyWindow {
  void* base_ptr;
  std::size_t num_bytes;
  float hitRatio;
  CUaccessProperty hitProp;
  CUaccessProperty missProp;
};

struct CUlaunchMemSyncDomainMap {
  unsigned char default_;
  unsigned char remote;
};

struct CUdim3 {  // cuda.h leaves it without a name
  unsigned int x;
  unsigned int y;
  unsigned int z;
};

union CUlaunchAttributeValue {
  char pad[64];
  CUaccessPolicyWindow accessPolicyWindow;
  int cooperative;
  CUsynchronizationPolicy syncPolicy;
  CUdim3 clusterDim;
  CUclusterSchedulingPolicy clusterSchedulingPolicyPreference;
  int programmaticStreamSerializationAllowed;
  struct {
    CUevent event;
    int flags;
    int triggerAtBlockStart;
  } programmaticEvent;
  struct {
    CUevent event;
    int flags;
  } launchCompletionEvent;
  int priority;
  CUlaunchMemSyncDomainMap memSyncDomainMap;
  CUlaunchMemSyncDomain memSyncDomain;
  CUdim3 preferredClusterDim;
  struct {
    int deviceUpdatable;
    CUgraphDeviceNode devNode;
  } deviceUpdatableKernelNode;
  unsigned int sharedMemCarveout;
};

struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  char pad[8 - sizeof(CUlaunchAttributeID)];
  CUlaunchAttributeValue value;
};

using CUkernelNodeAttrID = CUlaunchAttributeID;
using CUkernelNodeAttrValue = CUlaunchAttributeValue;
using CUstreamAttrID = CUlaunchAttributeID;
using CUstreamAttrValue = CUlaunchAttributeValue;

struct CUlaunchConfig {
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned int numAttrs;
};

struct CUDA_LAUNCH_PARAMS {
  CUfunction function;
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  void** kernelParams;
};

// --- words in memory ------------------------------------------------------------------------------------------

union CUstreamBatchMemOpParams {
  CUstreamBatchMemOpType operation;
  struct CUvalueParams {  // waitValue and writeValue have one layout
    CUstreamBatchMemOpType operation;
    CUdeviceptr address;
    union {
      cuuint32_t value;
      cuuint64_t value64;
    };
    unsigned int flags;
    CUdeviceptr alias;  // for the driver's use
  };
  CUvalueParams waitValue;
  CUvalueParams writeValue;
  struct {
    CUstreamBatchMemOpType operation;
    unsigned int flags;
  } flushRemoteWrites;
  struct {
    CUstreamBatchMemOpType operation;
    unsigned int flags;
  } memoryBarrier;
  cuuint64_t pad[6];
};

// --- memory ---------------------------------------------------------------------------------------------------

// Made by the driver and read by kernels alone.
struct alignas(64) CUtensorMap {
  cuuint64_t opaque[16];
};

struct CUmemLocation {
  CUmemLocationType type;
  int id;
};

struct CUmemAllocationProp {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};

struct CUmemPoolProps {
  CUmemAllocationType allocType;
  CUmemAllocationHandleType handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;  // bytes; 0 = the whole device
  unsigned short usage;
  unsigned char gpuDirectRDMACapable;
  unsigned char reserved[53];
};

struct CUmemAccessDesc {
  CUmemLocation location;
  CUmemAccess_flags flags;
};

struct CUcheckpointLockArgs {
  unsigned int timeoutMs;
  unsigned int reserved0;
  cuuint64_t reserved1[7];
};

struct CUcheckpointCheckpointArgs {
  cuuint64_t reserved[8];
};

struct CUcheckpointGpuPair {
  CUuuid oldUuid;
  CUuuid newUuid;
};

struct CUcheckpointRestoreArgs {
  CUcheckpointGpuPair* gpuPairs;
  unsigned int gpuPairsCount;
  char reserved[52 - sizeof(CUcheckpointGpuPair*)];
  cuuint64_t reserved1;
};

struct CUcheckpointUnlockArgs {
  cuuint64_t reserved[8];
};

struct CUipcMemHandle {
  char reserved[64];
};

struct CUipcEventHandle {
  char reserved[64];
};

struct CUDA_ARRAY_DESCRIPTOR {
  std::size_t Width;
  std::size_t Height;
  CUarray_format Format;
  unsigned int NumChannels;
};

struct CUDA_ARRAY3D_DESCRIPTOR {
  std::size_t Width;
  std::size_t Height;
  std::size_t Depth;
  CUarray_format Format;
  unsigned int NumChannels;
  unsigned int Flags;
};

// --- devices and contexts -------------------------------------------------------------------------------------

struct CUdevprop {
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int sharedMemPerBlock;
  int totalConstantMemory;
  int SIMDWidth;
  int memPitch;
  int regsPerBlock;
  int clockRate;
  int textureAlign;
};

struct CUexecAffinityParam {
  CUexecAffinityType type;
  union {
    struct {
      unsigned int val;
    } smCount;
  } param;
};

struct CUctxCigParam {
  CUcigDataType sharedDataType;
  void* sharedData;
};

struct CUctxCreateParams {
  CUexecAffinityParam* execAffinityParams;
  int numExecAffinityParams;
  CUctxCigParam* cigParams;
};

struct CUstreamCigCaptureParams {
  struct CUstreamCigParam* streamCigParams;
};

struct CUdevSmResource {
  unsigned int smCount;
  unsigned int minSmPartitionSize;
  unsigned int smCoscheduledAlignment;
  unsigned int flags;
  unsigned int localityDomainId;
};

struct CUdevResource {
  CUdevResourceType type;
  unsigned char _internal_padding[92];
  union {
    CUdevSmResource sm;
    unsigned char _oversize[40];
  };
  CUdevResource* nextResource;
};

}  // namespace cotenant::cu

#include "structs_copy.h"
#include "structs_graph.h"
