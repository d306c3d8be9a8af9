// A product described for cublasLt, so that its parts can use the algorithm of the whole.
#pragma once

#include <cstdint>

#include "interposer/products/library.h"
#include "interposer/products/product.h"

namespace cotenant {

// A product as cuBLAS's plain interfaces describe it: column-major. Handles and enumerations are passed on unchanged.
struct Matrices {
  Blas which;
  int transa, transb;
  std::int64_t m, n, k, lda, ldb, ldc;
  int at, bt, ct, compute, algo;  // compute 0: as the matrices' type is usually computed
  std::int64_t batch{1}, stride_a{0}, stride_b{0}, stride_c{0};
};
struct Operands {
  void* handle;
  const void *alpha, *a, *b, *beta;
  void* c;
};

// cudaDataType in bytes; 0: not known here.
[[nodiscard]] std::int64_t blas_size_of(int type) noexcept;

inline constexpr int kPlain = 0;           // CUBLAS_OP_N
inline constexpr int kNotInitialized = 1;  // CUBLAS_STATUS_NOT_INITIALIZED

using LtMatmul = int (*)(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*,
                         void*, void*, void*, const void*, void*, std::size_t, void*);
using LtGet = int (*)(void*, int, void*, std::size_t, std::size_t*);
using LtSet = int (*)(void*, int, const void*, std::size_t);

// The functions of cublasLt that belong to a function of cuBLAS.
struct LtFunctions {
  LtMatmul matmul;
  LtGet layout_get, product_get;
  LtSet layout_set, product_set, preference_set;
  int (*layout_create)(void**, int, std::uint64_t, std::uint64_t, std::int64_t);
  int (*layout_destroy)(void*);
  int (*product_create)(void**, int, int);
  int (*product_destroy)(void*);
  int (*preference_create)(void**);
  int (*preference_destroy)(void*);
  int (*heuristic)(void*, void*, void*, void*, void*, void*, void*, int, void*, int*);
  int (*stream)(void*, void**);        // cublasGetStream_v2
  int (*pointer_mode)(void*, int*);  // cublasGetPointerMode_v2
};

// Null: this library lacks some of them, or another thread is looking them up.
[[nodiscard]] const LtFunctions* lt_functions(void* function) noexcept;

// Owns an object of cublasLt and destroys it.
class LtObject {
 public:
  explicit LtObject(int (*destroy)(void*)) noexcept : destroy_(destroy) {}
  ~LtObject() {
    if (at_) destroy_(at_);
  }
  LtObject(const LtObject&) = delete;
  LtObject& operator=(const LtObject&) = delete;
  [[nodiscard]] void** into() noexcept { return &at_; }
  [[nodiscard]] void* get() const noexcept { return at_; }

 private:
  int (*destroy_)(void*);
  void* at_{nullptr};
};

struct LtAlgorithm {
  std::uint64_t data[8];
  std::uint64_t workspace;  // bytes it needs
  int compute;
};

class PinnedProduct {
 public:
  // Must not be used if `functions` is null.
  PinnedProduct(const LtFunctions* functions, const Matrices& matrices, const Operands& operands, Lines lines) noexcept
      : f_(functions), p_(matrices), o_(operands), lines_(lines) {}

  static constexpr int kAlgorithms = 16;
  // The algorithms that the library considers for the whole; returns how many.
  [[nodiscard]] int algorithms(LtAlgorithm (&into)[kAlgorithms]) const noexcept;

  // Multiplies some lines by this algorithm. `workspace` has the bytes that it needs, and is ordered with stream().
  [[nodiscard]] int give(const LtAlgorithm& algorithm, std::uint64_t workspace, std::int64_t first,
                         std::int64_t count) const noexcept;

  // The stream of the handle. False: the library does not tell.
  [[nodiscard]] bool stream(cu::CUstream& into) const noexcept;

 private:
  template <class Use>
  int with_descriptions(int compute, std::int64_t first, std::int64_t count, Use use) const noexcept;

  const LtFunctions* f_;
  const Matrices& p_;
  const Operands& o_;
  Lines lines_;
};

// GPU memory for one product in parts, in the order of its stream.
class Workspace {
 public:
  Workspace(const PinnedProduct& product, const LtAlgorithm& algorithm) noexcept;
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  [[nodiscard]] bool ready() const noexcept { return ready_; }
  [[nodiscard]] std::uint64_t at() const noexcept { return at_; }

 private:
  cu::CUstream stream_{nullptr};
  cu::CUdeviceptr at_{0};
  bool ready_{true};
};

}  // namespace cotenant
