#include "memory.h"

#include <cstdlib>
#include <cstring>

#include "../interposer/harness.h"

namespace programs {
namespace {

using harness::cuda;

Place places[kObjects];
std::atomic<std::uint32_t>* words = nullptr;
CUdeviceptr words_device = 0;

// Ways of allocating; the program names them by number.
enum How : unsigned { kAlloc, kAsync, kPool, kVirtual, kManaged, kPinned, kPageable, kRegistered };

CUmemLocation here() {
  CUdevice device = 0;
  OK(cuda().cuCtxGetDevice(&device));
  return {CU_MEM_LOCATION_TYPE_DEVICE, device};
}

CUresult make_virtual(Place& to) {
  CUmemAllocationProp about{};
  about.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  about.location = here();
  std::size_t step = 0;
  CUresult code = cuda().cuMemGetAllocationGranularity(&step, &about, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  const std::size_t bytes = step ? (to.bytes + step - 1) / step * step : 0;
  if (code == CUDA_SUCCESS) code = cuda().cuMemAddressReserve(&to.reserved, bytes, 0, 0, 0);
  if (code == CUDA_SUCCESS) code = cuda().cuMemCreate(&to.physical, bytes, &about, 0);
  if (code == CUDA_SUCCESS) code = cuda().cuMemMap(to.reserved, bytes, 0, to.physical, 0);
  const CUmemAccessDesc access{here(), CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (code == CUDA_SUCCESS) code = cuda().cuMemSetAccess(to.reserved, bytes, &access, 1);
  to.at = to.reserved;
  return code;
}

CUresult end_virtual(Place& of) {
  CUmemAllocationProp about{};
  about.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  about.location = here();
  std::size_t step = 1;
  OK(cuda().cuMemGetAllocationGranularity(&step, &about, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  const std::size_t bytes = (of.bytes + step - 1) / step * step;
  CUresult code = cuda().cuMemUnmap(of.reserved, bytes);
  if (code == CUDA_SUCCESS) code = cuda().cuMemRelease(of.physical);
  if (code == CUDA_SUCCESS) code = cuda().cuMemAddressFree(of.reserved, bytes);
  return code;
}

CUresult make_pooled(Place& to, CUstream stream) {
  CUmemPoolProps about{};
  about.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  about.location = here();
  const CUresult code = cuda().cuMemPoolCreate(&to.pool, &about);
  return code == CUDA_SUCCESS ? cuda().cuMemAllocFromPoolAsync(&to.at, to.bytes, to.pool, stream) : code;
}

// Two and three dimensions: rows of a quarter of the bytes, or all in one where that is not whole.
struct Box {
  std::size_t width, height;
};
Box box(std::size_t bytes) { return bytes % 4 == 0 ? Box{bytes / 4, 4} : Box{bytes, 1}; }

template <class Copy>
Copy described(const Place& to, const Place& from, std::size_t to_at, std::size_t from_at, Box size) {
  Copy c{};
  c.srcMemoryType = from.host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  c.srcHost = from.host ? from.host + from_at : nullptr;
  c.srcDevice = from.host ? 0 : from.at + from_at;
  c.srcPitch = size.width;
  c.dstMemoryType = to.host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  c.dstHost = to.host ? to.host + to_at : nullptr;
  c.dstDevice = to.host ? 0 : to.at + to_at;
  c.dstPitch = size.width;
  c.WidthInBytes = size.width;
  c.Height = size.height;
  return c;
}

CUresult copy_box(const Line& line, CUstream stream, bool waits) {
  const auto& of = line.of;
  const auto c = described<CUDA_MEMCPY2D>(place(of[1]), place(of[3]), of[2], of[4], box(of[5]));
  return waits ? cuda().cuMemcpy2D_v2(&c) : cuda().cuMemcpy2DAsync_v2(&c, stream);
}

CUresult copy_cube(const Line& line, CUstream stream) {
  const auto& of = line.of;
  auto c = described<CUDA_MEMCPY3D>(place(of[1]), place(of[3]), of[2], of[4], box(of[5]));
  c.srcHeight = c.dstHeight = c.Height;
  c.Depth = 1;
  return cuda().cuMemcpy3DAsync_v2(&c, stream);
}

CUresult copy_typed(const Line& line, CUstream stream, bool waits) {
  const auto& of = line.of;
  const Place& to = place(of[1]);
  const Place& from = place(of[3]);
  const CUdeviceptr to_device = to.at + of[2], from_device = from.at + of[4];
  if (from.host)
    return waits ? cuda().cuMemcpyHtoD_v2(to_device, from.host + of[4], of[5])
                 : cuda().cuMemcpyHtoDAsync_v2(to_device, from.host + of[4], of[5], stream);
  if (to.host)
    return waits ? cuda().cuMemcpyDtoH_v2(to.host + of[2], from_device, of[5])
                 : cuda().cuMemcpyDtoHAsync_v2(to.host + of[2], from_device, of[5], stream);
  return waits ? cuda().cuMemcpyDtoD_v2(to_device, from_device, of[5])
               : cuda().cuMemcpyDtoDAsync_v2(to_device, from_device, of[5], stream);
}

CUdeviceptr unified(const Place& of, std::size_t at) {
  return of.host ? reinterpret_cast<CUdeviceptr>(of.host + at) : of.at + at;
}

// In two halves, as one batch.
CUresult copy_batch(const Line& line, CUstream stream) {
  const auto& of = line.of;
  const CUdeviceptr to = unified(place(of[1]), of[2]), from = unified(place(of[3]), of[4]);
  std::size_t sizes[] = {of[5] / 2, of[5] - of[5] / 2};
  CUdeviceptr tos[] = {to, to + sizes[0]}, froms[] = {from, from + sizes[0]};
  CUmemcpyAttributes about{};
  about.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t first = 0, failed = 0;
  return cuda().cuMemcpyBatchAsync(tos, froms, sizes, 2, &about, &first, 1, &failed, stream);
}

}  // namespace

Place& place(std::uint64_t index) { return places[index % kObjects]; }
std::atomic<std::uint32_t>& word(std::uint64_t index) { return words[index]; }
CUdeviceptr word_on_device(std::uint64_t index) { return words_device + 4 * index; }

void make_words() {
  void* memory = nullptr;
  OK(cuda().cuMemHostAlloc(&memory, 4096, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
  OK(cuda().cuMemHostGetDevicePointer_v2(&words_device, memory, 0));
  std::memset(memory, 0, 4096);
  words = static_cast<std::atomic<std::uint32_t>*>(memory);
}

// allocate INDEX HOW BYTES
CUresult allocate(const Line& line, CUstream stream) {
  Place& to = place(line.of[0]);
  to = Place{};
  to.how = static_cast<unsigned>(line.of[1]);
  to.bytes = line.of[2];
  void* memory = nullptr;
  CUresult code = CUDA_SUCCESS;
  switch (to.how) {
    case kAlloc: return cuda().cuMemAlloc_v2(&to.at, to.bytes);
    case kAsync: return cuda().cuMemAllocAsync(&to.at, to.bytes, stream);
    case kPool: return make_pooled(to, stream);
    case kVirtual: return make_virtual(to);
    case kManaged: return cuda().cuMemAllocManaged(&to.at, to.bytes, CU_MEM_ATTACH_GLOBAL);
    case kPinned: code = cuda().cuMemHostAlloc(&memory, to.bytes, CU_MEMHOSTALLOC_PORTABLE); break;
    case kRegistered:
      memory = std::aligned_alloc(4096, (to.bytes + 4095) / 4096 * 4096);
      code = cuda().cuMemHostRegister_v2(memory, to.bytes, 0);
      break;
    default: memory = std::malloc(to.bytes); break;
  }
  to.host = static_cast<unsigned char*>(memory);
  for (std::size_t i = 0; code == CUDA_SUCCESS && i < to.bytes; ++i)
    to.host[i] = static_cast<unsigned char>((i * 7 + line.of[0] * 31) & 0x3f);
  return code;
}

// release INDEX
CUresult release(const Line& line, CUstream stream) {
  Place& of = place(line.of[0]);
  CUresult code = CUDA_SUCCESS;
  switch (of.how) {
    case kAsync: return cuda().cuMemFreeAsync(of.at, stream);
    case kPool:
      code = cuda().cuMemFreeAsync(of.at, stream);
      return code == CUDA_SUCCESS ? cuda().cuMemPoolDestroy(of.pool) : code;
    case kVirtual: return end_virtual(of);
    case kPinned: return cuda().cuMemFreeHost(of.host);
    case kRegistered: code = cuda().cuMemHostUnregister(of.host); [[fallthrough]];
    case kPageable: std::free(of.host); return code;
    default: return cuda().cuMemFree_v2(of.at);
  }
}

// copy HOW TO TO_AT FROM FROM_AT BYTES
CUresult copy(const Line& line, CUstream stream) {
  const auto& of = line.of;
  switch (of[0]) {
    case 0: return copy_typed(line, stream, false);
    case 1: return copy_typed(line, stream, true);
    case 2: return copy_box(line, stream, false);
    case 3: return copy_box(line, stream, true);
    case 4: return copy_cube(line, stream);
    case 5: return copy_batch(line, stream);
    case 6: return cuda().cuMemcpy(unified(place(of[1]), of[2]), unified(place(of[3]), of[4]), of[5]);
    default: return cuda().cuMemcpyAsync(unified(place(of[1]), of[2]), unified(place(of[3]), of[4]), of[5], stream);
  }
}

// fill HOW TO BYTES VALUE
CUresult fill(const Line& line, CUstream stream) {
  const auto& of = line.of;
  const CUdeviceptr to = place(of[1]).at;
  const std::size_t bytes = of[2];
  const auto value = static_cast<unsigned>(of[3]);
  switch (of[0]) {
    case 0: return cuda().cuMemsetD32Async(to, value, bytes / 4, stream);
    case 1: return cuda().cuMemsetD8Async(to, static_cast<unsigned char>(value), bytes, stream);
    case 2: return cuda().cuMemsetD2D16Async(to, bytes / 2, static_cast<unsigned short>(value), bytes / 4, 2, stream);
    case 3: return cuda().cuMemsetD16Async(to, static_cast<unsigned short>(value), bytes / 2, stream);
    default: return cuda().cuMemsetD32_v2(to, value, bytes / 4);
  }
}

std::uint64_t digest(const Place& of) {
  std::vector<unsigned char> copied;
  const unsigned char* bytes = of.host;
  if (!bytes) {
    copied.resize(of.bytes);
    OK(cuda().cuMemcpyDtoH_v2(copied.data(), of.at, of.bytes));
    bytes = copied.data();
  }
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (std::size_t i = 0; i + 8 <= of.bytes; i += 8) {  // every size is a multiple of 8
    std::uint64_t each;
    std::memcpy(&each, bytes + i, 8);
    hash = (hash ^ each) * 0x100000001b3ull;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace programs
