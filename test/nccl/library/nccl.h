// Types and functions of nccl.h that the stand-in offers, as NCCL 2.32 declares them. A test compares the functions with
// NVIDIA's.
#pragma once
#include <cstddef>
#include <cstdint>

#include "driver/abi.h"

typedef struct ncclComm* ncclComm_t;
typedef cotenant::cu::CUstream cudaStream_t;

struct ncclUniqueId {
  char internal[128];
};

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
} ncclResult_t;

// Its fields are hints, none of which the stand-in takes.
struct ncclConfig_t;
struct ncclCollConfig_t;

typedef enum { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4, ncclNumOps = 5 } ncclRedOp_t;

typedef enum {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12,
} ncclDataType_t;

#define ENTRY(result, name, parameters, arguments) extern "C" result name parameters;
#include "entries.def"
#undef ENTRY
