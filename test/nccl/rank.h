// One rank of a test program: RANK, WORLD_SIZE and LOCAL_RANK as torchrun sets them, and a file by which the first rank
// passes the identity of the communicator on.
#pragma once

#include "../softgpu/client.h"
#include "library/nccl.h"

#define NCCL(call)                                                                                                 \
  do {                                                                                                             \
    const ncclResult_t its_result = call;                                                                          \
    if (its_result != ncclSuccess)                                                                                 \
      fail("line %d: %s gave %s: %s", __LINE__, #call, ncclGetErrorString(its_result), ncclGetLastError(nullptr)); \
  } while (false)

inline int number_of(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) fail("%s is not set", name);
  return std::atoi(value);
}

inline ncclUniqueId shared_identity(const std::string& path, int rank) {
  ncclUniqueId id;
  if (rank == 0) {
    NCCL(ncclGetUniqueId(&id));
    FILE* file = std::fopen((path + ".new").c_str(), "w");
    if (file == nullptr || std::fwrite(&id, sizeof id, 1, file) != 1) fail("%s can't be written", path.c_str());
    std::fclose(file);
    std::rename((path + ".new").c_str(), path.c_str());
    return id;
  }
  FILE* file = nullptr;
  while ((file = std::fopen(path.c_str(), "r")) == nullptr) rest(1000);
  if (std::fread(&id, sizeof id, 1, file) != 1) fail("%s can't be read", path.c_str());
  std::fclose(file);
  return id;
}

// Device memory of floats.
struct Floats {
  CUdeviceptr at = 0;
  std::size_t count = 0;
  explicit Floats(std::size_t its_count) : count(its_count) { OK(cuMemAlloc_v2(&at, count * sizeof(float))); }
  [[nodiscard]] float* from(std::size_t first = 0) const {
    return reinterpret_cast<float*>(std::uintptr_t(at)) + first;
  }
  [[nodiscard]] std::vector<float> read() const {
    std::vector<float> values(count);
    OK(cuMemcpyDtoH_v2(values.data(), at, count * sizeof(float)));
    return values;
  }
};

struct Rank {
  const int rank = number_of("RANK");
  const int ranks = number_of("WORLD_SIZE");
  const Gpu gpu{number_of("LOCAL_RANK")};
  CUfunction fill_kernel = nullptr, fma_kernel = nullptr;
  ncclComm_t comm = nullptr;
  mutable unsigned checked = 0;

  explicit Rank(const std::string& path) {
    OK(cuModuleGetFunction(&fill_kernel, gpu.module, "fill"));
    OK(cuModuleGetFunction(&fma_kernel, gpu.module, "fma"));
    NCCL(ncclCommInitRank(&comm, ranks, shared_identity(path, rank), rank));
  }
  ~Rank() {
    NCCL(ncclCommDestroy(comm));
    report("{\"checked\": %u}", checked);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  // Sum of 0, 1, … of all ranks.
  [[nodiscard]] float all() const { return float(ranks * (ranks - 1) / 2); }

  void fill(CUstream on, const Floats& floats, float value) const {
    CUdeviceptr at = floats.at;
    auto count = unsigned(floats.count);
    unsigned bits;
    std::memcpy(&bits, &value, sizeof bits);
    void* parameters[] = {&at, &count, &bits};
    OK(cuLaunchKernel(fill_kernel, 1, 1, 1, 32, 1, 1, 0, on, parameters, nullptr));
  }
  // Each becomes itself times `factor`, plus 1.
  void fma(CUstream on, const Floats& floats, float factor) const {
    CUdeviceptr at = floats.at;
    auto count = unsigned(floats.count);
    void* parameters[] = {&at, &count, &factor};
    OK(cuLaunchKernel(fma_kernel, 1, 1, 1, 32, 1, 1, 0, on, parameters, nullptr));
  }
  void order(CUstream before, CUstream after) const {
    CUevent event = nullptr;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(event, before));
    OK(cuStreamWaitEvent(after, event, 0));
    OK(cuEventDestroy_v2(event));
  }
  void check(const Floats& floats, float value, const char* what) const {
    for (const float each : floats.read()) {
      if (each != value) fail("rank %d: %s has %g instead of %g", rank, what, double(each), double(value));
    }
    ++checked;
  }
};
