// Every family of copies and fills, bit for bit, in every entry point of it; and what each waits for.
#include <functional>

#include "client.h"

namespace {

std::vector<unsigned char> pattern(std::size_t bytes, unsigned seed) {
  std::vector<unsigned char> made(bytes);
  std::uint32_t random = seed * 2654435761u + 1;
  for (auto& byte : made) {
    random = random * 1664525u + 1013904223u;
    byte = static_cast<unsigned char>(random >> 24);
  }
  return made;
}

std::vector<unsigned char> fetch(CUdeviceptr from, std::size_t bytes) {
  std::vector<unsigned char> seen(bytes);
  OK(cuMemcpyDtoH_v2(seen.data(), from, bytes));
  return seen;
}

CUdeviceptr address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

using Step = std::function<CUresult(CUdeviceptr device, const void* host, std::size_t bytes)>;

}  // namespace

CASE("to-the-device") {
  const Gpu gpu;
  const Api& cuda = api();
  const CUstream s = gpu.stream(CU_STREAM_DEFAULT);
  CUcontext context = gpu.context;
  CUmemcpyAttributes in_order{};  // a batch must say when its sources are read
  in_order.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t first = 0;
  const std::vector<std::pair<const char*, Step>> ways = {
      {"HtoD", [&](auto d, auto h, auto n) { return cuda.cuMemcpyHtoD_v2(d, h, n); }},
      {"HtoD_ptds", [&](auto d, auto h, auto n) { return cuda.cuMemcpyHtoD_v2_ptds(d, h, n); }},
      {"HtoDAsync", [&](auto d, auto h, auto n) { return cuda.cuMemcpyHtoDAsync_v2(d, h, n, s); }},
      {"HtoDAsync_ptsz", [&](auto d, auto h, auto n) { return cuda.cuMemcpyHtoDAsync_v2_ptsz(d, h, n, nullptr); }},
      {"cuMemcpy", [&](auto d, auto h, auto n) { return cuda.cuMemcpy(d, address(h), n); }},
      {"cuMemcpy_ptds", [&](auto d, auto h, auto n) { return cuda.cuMemcpy_ptds(d, address(h), n); }},
      {"cuMemcpyAsync", [&](auto d, auto h, auto n) { return cuda.cuMemcpyAsync(d, address(h), n, s); }},
      {"BatchAsync",
       [&](auto d, auto h, auto n) {
         CUdeviceptr from = address(h);
         std::size_t failed = 0;
         return cuda.cuMemcpyBatchAsync(&d, &from, &n, 1, &in_order, &first, 1, &failed, s);
       }},
      {"BatchAsync_v2",
       [&](auto d, auto h, auto n) {
         CUdeviceptr from = address(h);
         return cuda.cuMemcpyBatchAsync_v2(&d, &from, &n, 1, &in_order, &first, 1, s);
       }},
      {"3DBatchAsync_v2",
       [&](auto d, auto h, auto n) {
         CUDA_MEMCPY3D_BATCH_OP op{};
         op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
         op.src.op.ptr.ptr = address(h);
         op.dst.op.ptr.ptr = d;
         op.extent = {n, 1, 1};
         op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
         return cuda.cuMemcpy3DBatchAsync_v2(1, &op, 0, s);
       }},
      {"staged, then HtoD and PeerAsync",
       [&](auto d, auto h, auto n) {
         CUdeviceptr other = 0;
         OK(cuMemAlloc_v2(&other, n));
         OK(cuMemcpyHtoDAsync_v2(other, h, n, s));
         return cuda.cuMemcpyPeerAsync(d, context, other, context, n, s);
       }},
      {"staged, then DtoD",
       [&](auto d, auto h, auto n) {
         CUdeviceptr other = 0;
         OK(cuMemAlloc_v2(&other, n));
         OK(cuMemcpyHtoD_v2(other, h, n));
         return cuda.cuMemcpyDtoD_v2(d, other, n);
       }},
      {"staged, then DtoDAsync and Peer",
       [&](auto d, auto h, auto n) {
         CUdeviceptr a = 0, b = 0;
         OK(cuMemAlloc_v2(&a, n));
         OK(cuMemAlloc_v2(&b, n));
         OK(cuMemcpyHtoD_v2(a, h, n));
         OK(cuMemcpyDtoDAsync_v2(b, a, n, s));
         return cuda.cuMemcpyPeer(d, context, b, context, n);
       }},
  };
  unsigned seed = 0;
  for (const auto& [name, copy] : ways) {
    // Below and above what the driver stages and what it moves on another thread.
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{4099}, std::size_t{65536}, std::size_t{3} << 20}) {
      const CUdeviceptr device = gpu.memory(bytes);
      std::vector<unsigned char> host = pattern(bytes, ++seed);
      const std::vector<unsigned char> wanted = host;
      const CUresult result = copy(device, host.data(), bytes);
      if (result != CUDA_SUCCESS) fail("%s of %zu bytes gave %d", name, bytes, int(result));
      // The source is pageable: it was read before the return.
      std::fill(host.begin(), host.end(), static_cast<unsigned char>(0));
      OK(cuCtxSynchronize());
      if (fetch(device, bytes) != wanted) fail("%s of %zu bytes is not exact", name, bytes);
      OK(cuMemFree_v2(device));
    }
  }
  report("{\"ways\":%zu}", ways.size());
}

CASE("to-the-host") {
  const Gpu gpu;
  const Api& cuda = api();
  const CUstream s = gpu.stream(CU_STREAM_DEFAULT);
  using Back = std::function<CUresult(void* host, CUdeviceptr device, std::size_t bytes)>;
  const std::vector<std::pair<const char*, Back>> ways = {
      {"DtoH", [&](auto h, auto d, auto n) { return cuda.cuMemcpyDtoH_v2(h, d, n); }},
      {"DtoH_ptds", [&](auto h, auto d, auto n) { return cuda.cuMemcpyDtoH_v2_ptds(h, d, n); }},
      {"DtoHAsync", [&](auto h, auto d, auto n) { return cuda.cuMemcpyDtoHAsync_v2(h, d, n, s); }},
      {"DtoHAsync_ptsz", [&](auto h, auto d, auto n) { return cuda.cuMemcpyDtoHAsync_v2_ptsz(h, d, n, nullptr); }},
      {"cuMemcpy", [&](auto h, auto d, auto n) { return cuda.cuMemcpy(address(h), d, n); }},
      {"cuMemcpyAsync_ptsz",
       [&](auto h, auto d, auto n) { return cuda.cuMemcpyAsync_ptsz(address(h), d, n, nullptr); }},
  };
  for (const auto& [name, copy] : ways) {
    for (const std::size_t bytes : {std::size_t{5}, std::size_t{2} << 20}) {
      const CUdeviceptr device = gpu.memory(bytes);
      const std::vector<unsigned char> wanted = pattern(bytes, 77);
      OK(cuMemcpyHtoD_v2(device, wanted.data(), bytes));
      std::vector<unsigned char> host(bytes);
      const CUresult result = copy(host.data(), device, bytes);
      if (result != CUDA_SUCCESS) fail("%s gave %d", name, int(result));
      // Pageable target: the call returned, so the bytes are there.
      if (host != wanted) fail("%s of %zu bytes is not exact", name, bytes);
    }
  }
  report("{\"ways\":%zu}", ways.size());
}

CASE("boxes") {
  const Gpu gpu;
  const Api& cuda = api();
  const CUstream s = gpu.stream(CU_STREAM_DEFAULT);
  CUdeviceptr device = 0;
  std::size_t pitch = 0;
  OK(cuMemAllocPitch_v2(&device, &pitch, 100, 40, 4));
  EXPECT(pitch >= 100 && pitch % 512 == 0, "a pitch is aligned");
  const std::vector<unsigned char> host = pattern(64 * 30 * 4, 5);  // 30 rows of 64 bytes, 4 slices
  using Copy2D = CUresult (*)(const CUDA_MEMCPY2D*, CUstream);
  for (const Copy2D copy :
       {Copy2D([](const CUDA_MEMCPY2D* c, CUstream) { return api().cuMemcpy2D_v2(c); }),
        Copy2D([](const CUDA_MEMCPY2D* c, CUstream) { return api().cuMemcpy2DUnaligned_v2_ptds(c); }),
        Copy2D([](const CUDA_MEMCPY2D* c, CUstream on) { return api().cuMemcpy2DAsync_v2(c, on); })}) {
    OK(cuMemsetD8_v2(device, 0xee, pitch * 40));
    CUDA_MEMCPY2D form{};
    form.srcMemoryType = CU_MEMORYTYPE_HOST;
    form.srcHost = host.data();
    form.srcPitch = 64;
    form.srcXInBytes = 3;
    form.srcY = 2;
    form.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    form.dstDevice = device;
    form.dstPitch = pitch;
    form.dstXInBytes = 7;
    form.dstY = 5;
    form.WidthInBytes = 50;
    form.Height = 20;
    EXPECT(copy(&form, s) == CUDA_SUCCESS, "the copy of a rectangle is taken");
    OK(cuCtxSynchronize());
    const std::vector<unsigned char> seen = fetch(device, pitch * 40);
    for (std::size_t y = 0; y < 40; ++y) {
      for (std::size_t x = 0; x < 100; ++x) {
        const bool inside = y >= 5 && y < 25 && x >= 7 && x < 57;
        const unsigned char wanted = inside ? host[(y - 5 + 2) * 64 + (x - 7 + 3)] : 0xee;
        if (seen[y * pitch + x] != wanted) fail("byte %zu of row %zu is wrong", x, y);
      }
    }
  }
  CUarray array = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR shape{16, 30, 4, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0};
  OK(cuArray3DCreate_v2(&array, &shape));
  CUDA_MEMCPY3D in{};
  in.srcMemoryType = CU_MEMORYTYPE_HOST;
  in.srcHost = host.data();
  in.srcPitch = 64;
  in.srcHeight = 30;
  in.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  in.dstArray = array;
  in.WidthInBytes = 64;
  in.Height = 30;
  in.Depth = 4;
  OK(cuMemcpy3D_v2(&in));
  const CUdeviceptr flat = gpu.memory(host.size());
  CUDA_MEMCPY3D out{};
  out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  out.srcArray = array;
  out.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  out.dstDevice = flat;
  out.dstPitch = 64;
  out.dstHeight = 30;
  out.WidthInBytes = 64;
  out.Height = 30;
  out.Depth = 4;
  OK(cuMemcpy3DAsync_v2(&out, s));
  OK(cuStreamSynchronize(s));
  EXPECT(fetch(flat, host.size()) == host, "a box goes through an array unchanged");
  CUDA_MEMCPY3D_PEER peer{};
  std::memcpy(&peer, &out, sizeof peer);
  OK(cuMemsetD8_v2(flat, 0, host.size()));
  peer.srcContext = peer.dstContext = gpu.context;
  OK(cuMemcpy3DPeer(&peer));
  OK(cuMemcpy3DPeerAsync_ptsz(&peer, nullptr));
  OK(cuCtxSynchronize());
  EXPECT(fetch(flat, host.size()) == host, "the peer forms copy the same box");
  out.WidthInBytes = 65;
  EXPECT(cuda.cuMemcpy3D_v2(&out) == CUDA_ERROR_INVALID_VALUE, "a box wider than the array is refused");
  OK(cuArrayDestroy(array));
  report("{}");
}

CASE("arrays") {
  const Gpu gpu;
  const CUstream s = gpu.stream(CU_STREAM_DEFAULT);
  std::size_t before = 0, during = 0, total = 0;
  OK(cuMemGetInfo_v2(&before, &total));
  CUarray a = nullptr, b = nullptr;
  const CUDA_ARRAY_DESCRIPTOR shape{1024, 0, CU_AD_FORMAT_FLOAT, 2};
  OK(cuArrayCreate_v2(&a, &shape));
  OK(cuArrayCreate_v2(&b, &shape));
  OK(cuMemGetInfo_v2(&during, &total));
  EXPECT(during == before - 2 * 8192, "arrays count as device memory");
  std::vector<unsigned char> host = pattern(8192, 9), seen(8192);
  const CUdeviceptr device = gpu.memory(8192);
  OK(cuMemcpyHtoA_v2(a, 0, host.data(), 4096));
  OK(cuMemcpyHtoAAsync_v2(a, 4096, host.data() + 4096, 4096, s));
  OK(cuMemcpyAtoA_v2(b, 0, a, 0, 8192));
  OK(cuMemcpyAtoD_v2(device, b, 0, 8192));
  OK(cuMemcpyDtoA_v2(a, 0, device, 8192));
  OK(cuMemcpyAtoH_v2(seen.data(), a, 0, 4096));
  OK(cuMemcpyAtoHAsync_v2(seen.data() + 4096, a, 4096, 4096, s));
  EXPECT(seen == host, "bytes go through arrays unchanged");
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA_v2(a, 8000, host.data(), 4096));
  CUmipmappedArray mipmap = nullptr;
  CUarray level = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR pyramid{64, 64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0};
  OK(cuMipmappedArrayCreate(&mipmap, &pyramid, 3));
  OK(cuMipmappedArrayGetLevel(&level, mipmap, 2));
  CUDA_ARRAY3D_DESCRIPTOR small{};
  OK(cuArray3DGetDescriptor_v2(&small, level));
  EXPECT(small.Width == 16 && small.Height == 16, "each level has half the side of the one before");
  OK(cuMipmappedArrayDestroy(mipmap));
  OK(cuArrayDestroy(a));
  OK(cuArrayDestroy(b));
  OK(cuMemFree_v2(device));
  OK(cuMemGetInfo_v2(&during, &total));
  EXPECT(during == before, "all of it is free again");
  report("{}");
}

CASE("fills") {
  const Gpu gpu;
  const Api& cuda = api();
  const CUstream s = gpu.stream(CU_STREAM_DEFAULT);
  const std::size_t bytes = 4096;
  const CUdeviceptr d = gpu.memory(bytes);
  struct Row {
    const char* name;
    std::function<CUresult()> fill;
    unsigned value, element;
    std::size_t pitch, width, height;
  };
  const Row rows[] = {
      {"D8", [&] { return cuda.cuMemsetD8_v2(d, 0xab, 100); }, 0xab, 1, 100, 100, 1},
      {"D16", [&] { return cuda.cuMemsetD16_v2(d, 0xabcd, 100); }, 0xabcd, 2, 200, 100, 1},
      {"D32", [&] { return cuda.cuMemsetD32_v2(d, 0xabcdef01, 100); }, 0xabcdef01, 4, 400, 100, 1},
      {"D8Async_ptsz", [&] { return cuda.cuMemsetD8Async_ptsz(d, 1, 100, nullptr); }, 1, 1, 100, 100, 1},
      {"D16Async", [&] { return cuda.cuMemsetD16Async(d, 2, 100, s); }, 2, 2, 200, 100, 1},
      {"D32Async", [&] { return cuda.cuMemsetD32Async(d, 3, 100, s); }, 3, 4, 400, 100, 1},
      {"D2D8", [&] { return cuda.cuMemsetD2D8_v2(d, 128, 0x11, 30, 8); }, 0x11, 1, 128, 30, 8},
      {"D2D16", [&] { return cuda.cuMemsetD2D16_v2_ptds(d, 128, 0x2211, 30, 8); }, 0x2211, 2, 128, 30, 8},
      {"D2D32", [&] { return cuda.cuMemsetD2D32_v2(d, 128, 0x44332211, 30, 8); }, 0x44332211, 4, 128, 30, 8},
      {"D2D8Async", [&] { return cuda.cuMemsetD2D8Async(d, 128, 0x12, 30, 8, s); }, 0x12, 1, 128, 30, 8},
      {"D2D16Async", [&] { return cuda.cuMemsetD2D16Async(d, 128, 0x13, 30, 8, s); }, 0x13, 2, 128, 30, 8},
      {"D2D32Async_ptsz", [&] { return cuda.cuMemsetD2D32Async_ptsz(d, 128, 0x14, 30, 8, nullptr); }, 0x14, 4, 128, 30,
       8},
  };
  for (const Row& row : rows) {
    const std::vector<unsigned char> base(bytes, 0x77);
    OK(cuMemcpyHtoD_v2(d, base.data(), bytes));
    if (row.fill() != CUDA_SUCCESS) fail("%s is refused", row.name);
    OK(cuCtxSynchronize());
    std::vector<unsigned char> wanted = base;
    for (std::size_t y = 0; y < row.height; ++y) {
      for (std::size_t x = 0; x < row.width; ++x)
        std::memcpy(&wanted[y * row.pitch + x * row.element], &row.value, row.element);
    }
    if (fetch(d, bytes) != wanted) fail("%s is not exact", row.name);
  }
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(d, 0, bytes + 1));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(d + 1, 0, 1));
  report("{\"fills\":%zu}", sizeof rows / sizeof rows[0]);
}

CASE("what-copies-wait-for") {
  const Gpu gpu;
  const CUstream s = gpu.stream(CU_STREAM_DEFAULT);
  const CUdeviceptr a = gpu.memory(1 << 20), b = gpu.memory(1 << 20);
  void* pinned = nullptr;
  OK(cuMemAllocHost_v2(&pinned, 1 << 20));
  std::vector<unsigned char> pageable(1 << 20, 1);
  const Word hold;
  OK(cuStreamWaitValue32_v2(s, hold.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  // All of these return although the stream cannot move.
  OK(cuMemcpyDtoHAsync_v2(pinned, a, 1 << 20, s));
  OK(cuMemcpyHtoDAsync_v2(a, pinned, 1 << 20, s));
  OK(cuMemcpyHtoDAsync_v2(a, pageable.data(), 64 << 10, s));
  OK(cuMemcpyDtoDAsync_v2(a, b, 1 << 20, s));
  OK(cuMemcpyDtoD_v2(a, b, 1 << 20));
  OK(cuMemcpyHtoD_v2(a, pageable.data(), 64 << 10));
  OK(cuMemsetD8_v2(a, 0, 1 << 20));
  EXPECT(!done(s), "the stream is still held");
  hold.set(1);
  std::vector<unsigned char> seen(16, 5);
  OK(cuMemcpyDtoH_v2(seen.data(), a, 16));
  EXPECT(done(s) && seen[0] == 0, "a copy to the host waits for all that was before it");
  report("{}");
}

CASE("bad-pointers") {
  const Gpu gpu;
  const CUdeviceptr d = gpu.memory(4096);
  unsigned char host[16] = "";
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(0x1234, host, 16));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(host, 0x1234, 16));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(d + 4090, host, 16));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(d + 16));
  OK(cuMemFree_v2(d));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(d));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(d, host, 16));
  OK(cuMemFree_v2(0));
  report("{}");
}

int main(int count, char** words) { return run_case(count, words); }
