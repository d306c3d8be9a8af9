#pragma once
// Arguments of copies: source, destination, size. Included by structs.h.

namespace cotenant::cu {

struct CUDA_MEMCPY2D {
  std::size_t srcXInBytes;
  std::size_t srcY;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  std::size_t srcPitch;
  std::size_t dstXInBytes;
  std::size_t dstY;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  std::size_t dstPitch;
  std::size_t WidthInBytes;
  std::size_t Height;
};

struct CUDA_MEMCPY3D {
  std::size_t srcXInBytes;
  std::size_t srcY;
  std::size_t srcZ;
  std::size_t srcLOD;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void* reserved0;
  std::size_t srcPitch;
  std::size_t srcHeight;
  std::size_t dstXInBytes;
  std::size_t dstY;
  std::size_t dstZ;
  std::size_t dstLOD;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void* reserved1;
  std::size_t dstPitch;
  std::size_t dstHeight;
  std::size_t WidthInBytes;
  std::size_t Height;
  std::size_t Depth;
};

// As CUDA_MEMCPY3D, with a context on either side where that one has a reserved word.
struct CUDA_MEMCPY3D_PEER {
  std::size_t srcXInBytes;
  std::size_t srcY;
  std::size_t srcZ;
  std::size_t srcLOD;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  CUcontext srcContext;
  std::size_t srcPitch;
  std::size_t srcHeight;
  std::size_t dstXInBytes;
  std::size_t dstY;
  std::size_t dstZ;
  std::size_t dstLOD;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  CUcontext dstContext;
  std::size_t dstPitch;
  std::size_t dstHeight;
  std::size_t WidthInBytes;
  std::size_t Height;
  std::size_t Depth;
};

struct CUmemcpyAttributes {
  CUmemcpySrcAccessOrder srcAccessOrder;
  CUmemLocation srcLocHint;
  CUmemLocation dstLocHint;
  unsigned int flags;
};

struct CUoffset3D {
  std::size_t x;
  std::size_t y;
  std::size_t z;
};

struct CUextent3D {
  std::size_t width;
  std::size_t height;
  std::size_t depth;
};

struct CUmemcpy3DOperand {
  CUmemcpy3DOperandType type;
  union {
    struct {
      CUdeviceptr ptr;
      std::size_t rowLength;    // elements = bytes; 0 = as wide as the extent
      std::size_t layerHeight;  // rows; 0 = as high as the extent
      CUmemLocation locHint;
    } ptr;
    struct {
      CUarray array;
      CUoffset3D offset;
    } array;
  } op;
};

struct CUDA_MEMCPY3D_BATCH_OP {
  CUmemcpy3DOperand src;
  CUmemcpy3DOperand dst;
  CUextent3D extent;
  CUmemcpySrcAccessOrder srcAccessOrder;
  unsigned int flags;
};

struct CUfabricCpyOperand {
  CUfabricCpyOperandType type;
  union {
    struct {
      CUdeviceptr ptr;
      CUmemLocation locHint;
    } ptr;
    struct {
      CUlogicalEndpointId id;
      cuuint64_t offset;
    } le;
  } op;
};

struct CUDA_FABRIC_COPY_BATCH_OP {
  CUfabricCpyOperand src;
  CUfabricCpyOperand dst;
  std::size_t size;
  unsigned int flags;
};

struct CUmemDecompressParams {
  std::size_t srcNumBytes;
  std::size_t dstNumBytes;  // 0: not known
  cuuint32_t* dstActBytes;
  const void* src;
  void* dst;
  unsigned int algo;
  unsigned char padding[20];
};

// Only the address of these is passed on.
struct CUarrayMapInfo;
struct CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS;

}  // namespace cotenant::cu
