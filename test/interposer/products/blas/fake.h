// A stand-in for cuBLAS: its calls, and what the tests may change about how it does them.
#pragma once

#include <cstddef>
#include <cstdint>

struct FakeCall {
  std::int64_t n;
  std::int64_t batch;
  const void* a;
  const void* b;
  const void* c;
};

// Kernels work on tiles of kTileRows x kTileColumns.
inline constexpr int kTileRows = 32;
inline constexpr int kTileColumns = 128;

struct FakeBlas {
  int calls = 0;
  FakeCall call[4096];
  std::uint64_t ns_per_wave = 500'000;
  std::uint64_t more_ns = 0;            // each launch takes that much longer
  std::int64_t other_kernel_below = 0;  // columns: fewer get another kernel
  bool second_kernel = false;
  bool algorithms = false;  // cublasLt says which it has: another one, this one, and this one in two kernels
  std::uint64_t workspace = 0;  // the last that a call with an algorithm was given
  bool loops = false;  // a fixed grid whose blocks take several tiles
  void* stream = nullptr;  // where kernels are launched
  int status = 0;      // what calls return, and nothing is launched
};

using FramedGemm = int (*)(int transb, int m, int n, int k, const void* a, const void* b, void* c);
