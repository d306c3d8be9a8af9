// A client that multiplies large matrices by the stand-in for cuBLAS (blas/fake.cpp), and what became of the result.
#pragma once

#include <algorithm>
#include <numeric>

#include "../fixture.h"
#include "blas/fake.h"

namespace harness {

constexpr int kRows = 33 * kTileRows;
constexpr int kColumns = 32 * kTileColumns;  // 8 waves of blocks
constexpr int kDepth = 128;
constexpr std::int64_t kPartColumns = kTileColumns;

// The libraries, found beside this program.
struct Libraries {
  void* blas = nullptr;
  void* framework = nullptr;
  void* stub = nullptr;
  Libraries() {
    char path[1024] = {};
    if (readlink("/proc/self/exe", path, sizeof path - 64) < 0) fail("/proc/self/exe");
    const std::string folder = std::string(path).substr(0, std::string(path).rfind('/')) + "/blas/";
    framework = dlopen((folder + "libframework.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    blas = dlopen((folder + "libcublas.so.13").c_str(), RTLD_NOW | RTLD_LOCAL);
    stub = dlopen((folder + "libstub.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!framework || !blas || !stub) fail(dlerror());
  }
  template <class Function>
  Function get(const char* name) const {
    return reinterpret_cast<Function>(dlsym(blas, name));
  }
};

// A result, in memory that the GPU writes and the test reads meanwhile; the first element of a part tells how many
// columns it has got.
struct Result {
  CUdeviceptr at = 0;
  std::size_t bytes = std::size_t{2} * kRows * kColumns;
  volatile unsigned char* host = nullptr;
  Result() {
    void* memory = nullptr;
    OK(cuda().cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuda().cuMemHostGetDevicePointer_v2(&at, memory, 0));
    host = static_cast<volatile unsigned char*>(memory);
    clear();
  }
  void clear() const { std::fill(host, host + bytes, static_cast<unsigned char>(0)); }
  unsigned word(std::size_t offset) const {
    return __atomic_load_n(reinterpret_cast<volatile unsigned*>(host + offset), __ATOMIC_ACQUIRE);
  }
};

template <class Client>
struct With {
  Client client;
  CUstream stream = make_stream();
  Libraries libraries;
  FakeBlas& fake;
  Result result;
  // Never touched: only where they begin matters.
  const char* a = reinterpret_cast<const char*>(0x100000000);
  const char* b = reinterpret_cast<const char*>(0x200000000);

  With() : fake(*static_cast<FakeBlas*>(dlsym(libraries.blas, "fake_blas"))) {
    fake.stream = stream;
    client.agent.region().settings.splitProductsUs = 700;
  }
  char* c() const { return reinterpret_cast<char*>(result.at); }
  int multiply(int transb = 0) { return multiply_by(libraries.framework, transb); }
  int multiply_by(void* library, int transb = 0) {
    const auto gemm = reinterpret_cast<FramedGemm>(dlsym(library, "framed_gemm"));
    return gemm(transb, kRows, kColumns, kDepth, a, b, c());
  }
  void wait() { OK(cuda().cuStreamSynchronize(stream)); }
  // Until what it takes is known.
  template <class Multiply>
  void learn(Multiply multiply_once) {
    for (int i = 0; i < 8; ++i) {
      expect(multiply_once() == 0, "the product succeeds");
      wait();
    }
    result.clear();
    fake.calls = 0;
  }
  void learn() {
    learn([this] { return multiply(); });
  }
  // The columns at each multiple of a part's size.
  std::vector<unsigned> columns() {
    std::vector<unsigned> found;
    for (std::size_t column = 0; column < kColumns; column += kPartColumns)
      found.push_back(result.word(2 * kRows * column));
    return found;
  }
  unsigned done() {
    const std::vector<unsigned> found = columns();
    return std::accumulate(found.begin(), found.end(), 0u);
  }
  void multiply_until_in_parts(const char* what) {
    eventually(
        [&] {
          result.clear();
          expect(multiply() == 0, "it succeeds");
          wait();
          return result.word(0) < kColumns;
        },
        what);
  }
  void expect_in_parts(const std::string& what) {
    wait();
    const std::vector<unsigned> found = columns();
    unsigned sum = 0;
    unsigned parts = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == 0) continue;
      expect(sum == i * kPartColumns, "a part begins where the one before it ends");
      sum += found[i];
      ++parts;
    }
    expect(parts > 1, what + " runs in parts");
    expect(sum == kColumns, "each column is computed once");
  }
  void expect_whole(const std::string& what) {
    wait();
    const std::vector<unsigned> found = columns();
    expect(found[0] == kColumns && std::count(found.begin(), found.end(), 0u) == static_cast<long>(found.size()) - 1,
           what + " runs whole, and once");
  }
};
using Client = With<BestEffort>;

}  // namespace harness
