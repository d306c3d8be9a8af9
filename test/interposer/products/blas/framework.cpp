// A library that is linked with cuBLAS and opened by a program for itself alone, as Python opens PyTorch.
#include <cstdint>

extern "C" {

int cublasGemmEx(void*, int, int, int m, int n, int k, const void*, const void* a, int, int, const void* b, int, int,
                 const void*, void* c, int, int, int, int);

// Half-precision, leading dimensions as small as they can be.
__attribute__((visibility("default"))) int framed_gemm(int transb, int m, int n, int k, const void* a, const void* b,
                                                       void* c) {
  const float one = 1;
  const float zero = 0;
  const int status =
      cublasGemmEx(nullptr, 1, transb, m, n, k, &one, a, 2, k, b, 2, transb ? n : k, &zero, c, 2, m, 68, -1);
  return status;
}
}
