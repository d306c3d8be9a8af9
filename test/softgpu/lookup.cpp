// Entry points: all there, each version under the version that is asked for, the same pointer by either way.
#include "client.h"

namespace {

struct Name {
  const char* symbol;
  void* address;
};

std::vector<Name> all() {
  std::vector<Name> names;
#define HOOK(symbol, parameters, arguments) names.push_back({#symbol, reinterpret_cast<void*>(api().symbol)});
#define CALL HOOK
#include "driver/entries.def"
#undef HOOK
#undef CALL
  return names;
}

}  // namespace

CASE("every-entry-is-exported") {
  for (const Name& name : all()) {
    if (name.address == nullptr) fail("%s is not exported", name.symbol);
  }
  report("{\"entries\":%zu}", all().size());
}

CASE("versions") {
  struct Row {
    const char* name;
    int version;
    cuuint64_t flags;
    const char* symbol;  // null: not found
  };
  const Row rows[] = {
      {"cuMemAlloc", 3020, 0, "cuMemAlloc_v2"},
      {"cuMemAlloc", 13000, 0, "cuMemAlloc_v2"},
      {"cuLaunchHostFunc", 13000, 0, "cuLaunchHostFunc"},
      {"cuLaunchHostFunc", 13010, 0, "cuLaunchHostFunc_v2"},
      {"cuLaunchHostFunc", 13010, 2, "cuLaunchHostFunc_v2_ptsz"},
      {"cuStreamBeginRecaptureToGraph", 13020, 0, nullptr},
      {"cuMemAlloc", 2000, 0, nullptr},
      {"cuCtxCreate", 3020, 0, "cuCtxCreate_v2"},
      {"cuCtxCreate", 11030, 0, "cuCtxCreate_v2"},
      {"cuCtxCreate", 11040, 0, "cuCtxCreate_v3"},
      {"cuCtxCreate", 12040, 0, "cuCtxCreate_v3"},
      {"cuCtxCreate", 12050, 0, "cuCtxCreate_v4"},
      {"cuGetProcAddress", 11030, 0, "cuGetProcAddress"},
      {"cuGetProcAddress", 11080, 0, "cuGetProcAddress"},
      {"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
      {"cuStreamBeginCapture", 10000, 0, "cuStreamBeginCapture"},
      {"cuStreamBeginCapture", 10010, 2, "cuStreamBeginCapture_v2_ptsz"},
      {"cuStreamGetCaptureInfo", 11030, 2, "cuStreamGetCaptureInfo_v2_ptsz"},
      {"cuEventElapsedTime", 12070, 0, "cuEventElapsedTime"},
      {"cuEventElapsedTime", 12080, 0, "cuEventElapsedTime_v2"},
      {"cuEventDestroy", 2000, 0, "cuEventDestroy"},
      {"cuEventDestroy", 4000, 0, "cuEventDestroy_v2"},
      {"cuMemcpyHtoD", 7000, 2, "cuMemcpyHtoD_v2_ptds"},
      {"cuMemcpyHtoD", 7000, 1, "cuMemcpyHtoD_v2"},
      {"cuMemcpyBatchAsync", 12080, 0, "cuMemcpyBatchAsync"},
      {"cuMemcpyBatchAsync", 13000, 2, "cuMemcpyBatchAsync_v2_ptsz"},
      {"cuLaunchKernel", 4000, 0, "cuLaunchKernel"},
      {"cuLaunchKernel", 12000, 2, "cuLaunchKernel_ptsz"},
      {"cuLaunchKernelEx", 11060, 0, "cuLaunchKernelEx"},
      {"cuLaunchKernelEx", 11050, 0, nullptr},
      {"cuStreamWaitValue32", 8000, 0, "cuStreamWaitValue32"},
      {"cuStreamWaitValue32", 11070, 2, "cuStreamWaitValue32_v2_ptsz"},
      {"cuGraphAddKernelNode", 11080, 0, "cuGraphAddKernelNode"},
      {"cuGraphAddKernelNode", 12000, 0, "cuGraphAddKernelNode_v2"},
      {"cuDeviceGetUuid", 11040, 0, "cuDeviceGetUuid_v2"},
      {"cuGreenCtxStreamCreate", 12040, 0, nullptr},
      {"cuNoSuchThing", 13000, 0, nullptr},
  };
  for (const Row& row : rows) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    const CUresult result = api().cuGetProcAddress_v2(row.name, &found, row.version, row.flags, &status);
    if (result != (row.symbol == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS)) {
      fail("looking up %s gave %d", row.name, int(result));
    }
    void* expected = row.symbol == nullptr ? nullptr : dlsym(library(), row.symbol);
    if (found != expected) fail("%s for %d with flags %d is not %s", row.name, row.version, int(row.flags), row.symbol);
    const CUresult plain = api().cuGetProcAddress(row.name, &found, row.version, row.flags);
    if (found != expected || plain != result) fail("the older resolver differs for %s", row.name);
    if ((status == CU_GET_PROC_ADDRESS_SUCCESS) != (row.symbol != nullptr)) {
      fail("the status of %s is %d", row.name, int(status));
    }
  }
  void* found = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  GIVES(CUDA_ERROR_NOT_FOUND, cuGetProcAddress_v2("cuMemAlloc", &found, 2000, 0, &status));
  EXPECT(status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, "a name that is too new says so");
  GIVES(CUDA_ERROR_NOT_FOUND, cuGetProcAddress_v2("cuNoSuchThing", &found, 13000, 0, &status));
  EXPECT(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "a name that does not exist says so");
  GIVES(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuMemAlloc", &found, 99000, 0, &status));
  report("{\"rows\":%zu}", sizeof rows / sizeof rows[0]);
}

// Newest version of every name, both families: the pointer is the one dlsym gives for some symbol of that name.
CASE("pointers-equal-dlsym") {
  unsigned compared = 0;
  for (const Name& name : all()) {
    std::string base = name.symbol;
    const bool per_thread =
        base.size() > 5 && (base.rfind("_ptsz") == base.size() - 5 || base.rfind("_ptds") == base.size() - 5);
    if (per_thread) base.resize(base.size() - 5);
    if (base.size() > 3 && base[base.size() - 3] == '_' && base[base.size() - 2] == 'v') base.resize(base.size() - 3);
    void* found = nullptr;
    if (api().cuGetProcAddress(base.c_str(), &found, kCudaVersion, per_thread ? 2 : 1) != CUDA_SUCCESS) {
      fail("%s is not to be had", base.c_str());
    }
    bool exported = false;
    for (const Name& other : all()) exported |= other.address == found;
    if (!exported) fail("what is given for %s is not an exported symbol", base.c_str());
    ++compared;
  }
  report("{\"compared\":%u}", compared);
}

CASE("before-cuInit") {
  int count = 0;
  GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
  CUcontext context = nullptr;
  GIVES(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&context));
  int version = 0;
  OK(cuDriverGetVersion(&version));
  EXPECT(version == kCudaVersion, "the version is known without initialising");
  OK(cuInit(0));
  OK(cuCtxGetCurrent(&context));
  EXPECT(context == nullptr, "no context is current at first");
  CUstream stream = nullptr;
  GIVES(CUDA_ERROR_INVALID_CONTEXT, cuStreamCreate(&stream, 0));
  report("{}");
}

CASE("devices") {
  OK(cuInit(0));
  int count = 0, sms = 0, major = 0;
  OK(cuDeviceGetCount(&count));
  std::string uuids;
  for (int i = 0; i < count; ++i) {
    CUuuid uuid{};
    char bus[16] = "";
    CUdevice back = -1;
    OK(cuDeviceGetUuid_v2(&uuid, i));
    OK(cuDeviceGetPCIBusId(bus, sizeof bus, i));
    OK(cuDeviceGetByPCIBusId(&back, bus));
    EXPECT(back == i, "a bus id finds its device");
    uuids += std::to_string(int(uuid.bytes[15])) + "@" + std::string(bus + 5, 2) + " ";
  }
  OK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  OK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  std::size_t total = 0;
  OK(cuDeviceTotalMem_v2(&total, 0));
  GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceTotalMem_v2(&total, count));
  report("{\"devices\":%d,\"sms\":%d,\"major\":%d,\"bytes\":%zu,\"uuids\":\"%s\"}", count, sms, major, total,
         uuids.c_str());
}

CASE("no-device") {
  GIVES(CUDA_ERROR_NO_DEVICE, cuInit(0));
  GIVES(CUDA_ERROR_NO_DEVICE, cuInit(0));
  int count = 0;
  GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
  report("{}");
}

CASE("lacking") {
  OK(cuInit(0));
  void* found = nullptr;
  OK(cuGetProcAddress("cuSurfRefSetArray", &found, 13000, 0));
  EXPECT(found != nullptr && found == dlsym(library(), "cuSurfRefSetArray"), "both ways lead to the same function");
  for (int i = 0; i < 2; ++i) {
    EXPECT(reinterpret_cast<CUresult (*)()>(found)() == CUDA_ERROR_NOT_SUPPORTED, "it says that it can't");
  }
  report("{}");
}

CASE("modules") {
  const Gpu gpu;
  CUfunction plain = nullptr, none = nullptr;
  OK(cuModuleGetFunction(&plain, gpu.module, "plain"));
  GIVES(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&none, gpu.module, "none"));
  std::size_t offset = 9, size = 9;
  OK(cuFuncGetParamInfo(plain, 1, &offset, &size));
  EXPECT(offset == 24 && size == 1, "a parameter is where its alignment puts it");
  GIVES(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(plain, 2, &offset, &size));
  int threads = 0, blocks = 0;
  OK(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, plain));
  EXPECT(threads == 256, ".maxntid limits the block");
  char blob[24] = "";
  char small = 0;
  void* parameters[] = {blob, &small};
  GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(plain, 1, 1, 1, 512, 1, 1, 0, nullptr, parameters, nullptr));
  GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(plain, 0, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
  OK(cuLaunchKernel(plain, 1, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr));
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 256, 0));
  EXPECT(blocks == 8, "eight blocks of 256 threads fit an SM");
  CUdeviceptr global = 0;
  OK(cuModuleGetGlobal_v2(&global, &size, gpu.module, "counter"));
  EXPECT(size == 16, "a global has the size of its array");
  CUlibrary library_handle = nullptr;
  CUkernel kernel = nullptr;
  OK(cuLibraryLoadData(&library_handle, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(cuLibraryGetKernel(&kernel, library_handle, "work"));
  std::uint64_t ns = 1000;
  unsigned sms = 1;
  void* work[] = {&ns, &sms};
  OK(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, nullptr, work, nullptr));
  unsigned char packed[12] = {};
  std::memcpy(packed, &ns, 8);
  std::memcpy(packed + 8, &sms, 4);
  std::size_t bytes = sizeof packed;
  void* extra[] = {reinterpret_cast<void*>(1), packed, reinterpret_cast<void*>(2), &bytes, nullptr};
  OK(cuLaunchKernel(gpu.work, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  OK(cuCtxSynchronize());
  OK(cuLibraryUnload(library_handle));
  GIVES(CUDA_ERROR_INVALID_HANDLE,
        cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, nullptr, work, nullptr));
  CUmodule broken = nullptr;
  GIVES(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&broken, "no such language"));
  GIVES(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&broken, ".version 8.0\n//! soft ns=p3\n.entry k(.param .u64 a) { }"));
  GIVES(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&broken,
                                                       "\x7f"
                                                       "ELF"));
  report("{}");
}

CASE("effects") {
  const Gpu gpu;
  CUfunction fill = nullptr, fma = nullptr;
  OK(cuModuleGetFunction(&fill, gpu.module, "fill"));
  OK(cuModuleGetFunction(&fma, gpu.module, "fma"));
  CUdeviceptr data = gpu.memory(64);
  unsigned count = 16, bits = 0;
  float factor = 2.5f, start = 3.0f;
  std::memcpy(&bits, &start, 4);
  void* a[] = {&data, &count, &bits};
  void* b[] = {&data, &count, &factor};
  OK(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, nullptr, a, nullptr));
  OK(cuLaunchKernel(fma, 1, 1, 1, 32, 1, 1, 0, nullptr, b, nullptr));
  OK(cuLaunchKernel(fma, 1, 1, 1, 32, 1, 1, 0, nullptr, b, nullptr));
  float seen[16];
  OK(cuMemcpyDtoH_v2(seen, data, 64));
  for (const float value : seen)
    EXPECT(value == (3.0f * 2.5f + 1) * 2.5f + 1, "effects follow each other in stream order");
  CUdeviceptr word = gpu.memory(4);
  OK(cuMemsetD32_v2(word, 0, 1));
  for (int i = 0; i < 10; ++i) {
    std::uint64_t ns = 1000;
    unsigned one = 1;
    void* c[] = {&ns, &word, &one};
    OK(cuLaunchKernel(gpu.add, 1, 1, 1, 32, 1, 1, 0, nullptr, c, nullptr));
  }
  unsigned sum = 0;
  OK(cuMemcpyDtoH_v2(&sum, word, 4));
  EXPECT(sum == 10, "ten additions add up");
  report("{}");
}

int main(int count, char** words) { return run_case(count, words); }
