// The wrappers of cuBLAS: they describe what a call multiplies, and make the same call for a part of the result. The
// declarations are the interposer's own; handles and enumerations are passed on unchanged.
#include "gate/parts.h"
#include "interposer/products/wrapper.h"

namespace cotenant {
namespace {

constexpr int kUsual = 0;  // Matrices::compute

constexpr int kHalf = 2;
constexpr int kFloat = 0;
constexpr int kDouble = 1;

std::uint64_t key_of(const Matrices& p, const void* a, const void* b, const void* c) noexcept {
  return mix({static_cast<std::int64_t>(p.which),
              p.transa,
              p.transb,
              p.m,
              p.n,
              p.k,
              p.lda,
              p.ldb,
              p.ldc,
              p.at,
              p.bt,
              p.ct,
              p.compute,
              p.algo,
              p.batch,
              p.stride_a,
              p.stride_b,
              p.stride_c,
              alignment(a),
              alignment(b),
              alignment(c)});
}

bool can_divide(const Matrices& p) noexcept {
  if (role() != Role::kBestEffort) return false;
  const double operations = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
                            static_cast<double>(p.batch);
  return operations >= kSmallProduct && blas_size_of(p.at) && blas_size_of(p.bt) && blas_size_of(p.ct);
}

struct Sizes {
  std::int64_t rows, columns, matrices;
};

// `call(a, b, c, sizes)` calls the library's `function`.
template <class Call>
int give(const Matrices& p, const Operands& o, void* function, const Call& call) noexcept {
  const Sizes all{p.m, p.n, p.batch};
  if (!can_divide(p)) return call(o.a, o.b, o.c, all);
  const std::int64_t a_bytes = blas_size_of(p.at), b_bytes = blas_size_of(p.bt), c_bytes = blas_size_of(p.ct);
  const auto of_columns = [&](std::int64_t first, std::int64_t count) {
    return call(o.a, advance(o.b, first * (p.transb == kPlain ? p.ldb : 1) * b_bytes),
                advance(o.c, first * p.ldc * c_bytes), Sizes{p.m, count, p.batch});
  };
  const auto of_rows = [&](std::int64_t first, std::int64_t count) {
    return call(advance(o.a, first * (p.transa == kPlain ? 1 : p.lda) * a_bytes), o.b, advance(o.c, first * c_bytes),
                Sizes{count, p.n, p.batch});
  };
  const auto of_matrices = [&](std::int64_t first, std::int64_t count) {
    return call(advance(o.a, first * p.stride_a * a_bytes), advance(o.b, first * p.stride_b * b_bytes),
                advance(o.c, first * p.stride_c * c_bytes), Sizes{p.m, p.n, count});
  };
  const LtFunctions* lt = product_call ? nullptr : lt_functions(function);
  const PinnedProduct columns(lt, p, o, Lines::kColumns), rows(lt, p, o, Lines::kRows),
      matrices(lt, p, o, Lines::kMatrices);
  const auto pinned = [&](const PinnedProduct& product) { return lt ? &product : nullptr; };
  const std::uint64_t key = key_of(p, o.a, o.b, o.c);
  if (p.batch > 1) {
    const Division by_matrices =
        way({Lines::kMatrices, p.batch, 1, p.m * p.n, p.k, false}, of_matrices, pinned(matrices));
    return give_product(key, &by_matrices, 1);
  }
  const Division by_columns = way({Lines::kColumns, p.n, kStep, p.m, p.k, false}, of_columns, pinned(columns));
  const Division by_rows = way({Lines::kRows, p.m, kStep, p.n, p.k, false}, of_rows, pinned(rows));
  const bool columns_first = columns_before_rows(p.m * a_bytes, p.n * b_bytes, p.n >= 2 * kStep);
  const Division ways[kWays] = {columns_first ? by_columns : by_rows, columns_first ? by_rows : by_columns};
  return give_product(key, ways, kWays);
}

template <class Int>
using GemmEx = int (*)(void*, int, int, Int, Int, Int, const void*, const void*, int, Int, const void*, int, Int,
                       const void*, void*, int, Int, int, int);
template <class Int>
using GemmStridedEx = int (*)(void*, int, int, Int, Int, Int, const void*, const void*, int, Int, long long,
                              const void*, int, Int, long long, const void*, void*, int, Int, long long, Int, int, int);
template <class Int>
using SgemmEx = int (*)(void*, int, int, Int, Int, Int, const void*, const void*, int, Int, const void*, int, Int,
                        const void*, void*, int, Int);
template <class Int>
using Gemm = int (*)(void*, int, int, Int, Int, Int, const void*, const void*, Int, const void*, Int, const void*,
                     void*, Int);
template <class Int>
using GemmStrided = int (*)(void*, int, int, Int, Int, Int, const void*, const void*, Int, long long, const void*, Int,
                            long long, const void*, void*, Int, long long, Int);

}  // namespace

#define GEMM_EX(name, Int)                                                                                           \
  EXPORT name(void* handle, int ta, int tb, Int m, Int n, Int k, const void* alpha, const void* a, int at, Int lda,  \
              const void* b, int bt, Int ldb, const void* beta, void* c, int ct, Int ldc, int compute, int algo) {   \
    constexpr Blas kWhich = Blas::name;                                                                              \
    REAL(GemmEx<Int>)                                                                                                \
    return give({kWhich, ta, tb, m, n, k, lda, ldb, ldc, at, bt, ct, compute, algo}, {handle, alpha, a, b, beta, c}, \
                reinterpret_cast<void*>(real), [&](const void* a_, const void* b_, void* c_, const Sizes& of) {      \
                  return real(handle, ta, tb, static_cast<Int>(of.rows), static_cast<Int>(of.columns), k, alpha, a_, \
                              at, lda, b_, bt, ldb, beta, c_, ct, ldc, compute, algo);                               \
                });                                                                                                  \
  }

#define GEMM_STRIDED_EX(name, Int)                                                                                    \
  EXPORT name(void* handle, int ta, int tb, Int m, Int n, Int k, const void* alpha, const void* a, int at, Int lda,   \
              long long sa, const void* b, int bt, Int ldb, long long sb, const void* beta, void* c, int ct, Int ldc, \
              long long sc, Int batch, int compute, int algo) {                                                       \
    constexpr Blas kWhich = Blas::name;                                                                               \
    REAL(GemmStridedEx<Int>)                                                                                          \
    return give({kWhich, ta, tb, m, n, k, lda, ldb, ldc, at, bt, ct, compute, algo, batch, sa, sb, sc},               \
                {handle, alpha, a, b, beta, c}, reinterpret_cast<void*>(real),                                        \
                [&](const void* a_, const void* b_, void* c_, const Sizes& of) {                                      \
                  return real(handle, ta, tb, static_cast<Int>(of.rows), static_cast<Int>(of.columns), k, alpha, a_,  \
                              at, lda, sa, b_, bt, ldb, sb, beta, c_, ct, ldc, sc, static_cast<Int>(of.matrices),     \
                              compute, algo);                                                                         \
                });                                                                                                   \
  }

#define SGEMM_EX(name, Int)                                                                                          \
  EXPORT name(void* handle, int ta, int tb, Int m, Int n, Int k, const void* alpha, const void* a, int at, Int lda,  \
              const void* b, int bt, Int ldb, const void* beta, void* c, int ct, Int ldc) {                          \
    constexpr Blas kWhich = Blas::name;                                                                              \
    REAL(SgemmEx<Int>)                                                                                               \
    return give({kWhich, ta, tb, m, n, k, lda, ldb, ldc, at, bt, ct, kUsual, 0}, {handle, alpha, a, b, beta, c},     \
                reinterpret_cast<void*>(real), [&](const void* a_, const void* b_, void* c_, const Sizes& of) {      \
                  return real(handle, ta, tb, static_cast<Int>(of.rows), static_cast<Int>(of.columns), k, alpha, a_, \
                              at, lda, b_, bt, ldb, beta, c_, ct, ldc);                                              \
                });                                                                                                  \
  }

#define GEMM(name, Int, type)                                                                                          \
  EXPORT name(void* handle, int ta, int tb, Int m, Int n, Int k, const void* alpha, const void* a, Int lda,            \
              const void* b, Int ldb, const void* beta, void* c, Int ldc) {                                            \
    constexpr Blas kWhich = Blas::name;                                                                                \
    REAL(Gemm<Int>)                                                                                                    \
    return give({kWhich, ta, tb, m, n, k, lda, ldb, ldc, type, type, type, kUsual, 0}, {handle, alpha, a, b, beta, c}, \
                reinterpret_cast<void*>(real), [&](const void* a_, const void* b_, void* c_, const Sizes& of) {        \
                  return real(handle, ta, tb, static_cast<Int>(of.rows), static_cast<Int>(of.columns), k, alpha, a_,   \
                              lda, b_, ldb, beta, c_, ldc);                                                            \
                });                                                                                                    \
  }

#define GEMM_STRIDED(name, Int, type)                                                                                \
  EXPORT name(void* handle, int ta, int tb, Int m, Int n, Int k, const void* alpha, const void* a, Int lda,          \
              long long sa, const void* b, Int ldb, long long sb, const void* beta, void* c, Int ldc, long long sc,  \
              Int batch) {                                                                                           \
    constexpr Blas kWhich = Blas::name;                                                                              \
    REAL(GemmStrided<Int>)                                                                                           \
    return give({kWhich, ta, tb, m, n, k, lda, ldb, ldc, type, type, type, kUsual, 0, batch, sa, sb, sc},            \
                {handle, alpha, a, b, beta, c}, reinterpret_cast<void*>(real),                                       \
                [&](const void* a_, const void* b_, void* c_, const Sizes& of) {                                     \
                  return real(handle, ta, tb, static_cast<Int>(of.rows), static_cast<Int>(of.columns), k, alpha, a_, \
                              lda, sa, b_, ldb, sb, beta, c_, ldc, sc, static_cast<Int>(of.matrices));               \
                });                                                                                                  \
  }

GEMM_EX(cublasGemmEx, int)
GEMM_EX(cublasGemmEx_64, std::int64_t)
GEMM_STRIDED_EX(cublasGemmStridedBatchedEx, int)
GEMM_STRIDED_EX(cublasGemmStridedBatchedEx_64, std::int64_t)
SGEMM_EX(cublasSgemmEx, int)
SGEMM_EX(cublasSgemmEx_64, std::int64_t)
GEMM(cublasHgemm, int, kHalf)
GEMM(cublasHgemm_64, std::int64_t, kHalf)
GEMM(cublasSgemm_v2, int, kFloat)
GEMM(cublasSgemm_v2_64, std::int64_t, kFloat)
GEMM(cublasDgemm_v2, int, kDouble)
GEMM(cublasDgemm_v2_64, std::int64_t, kDouble)
GEMM_STRIDED(cublasHgemmStridedBatched, int, kHalf)
GEMM_STRIDED(cublasHgemmStridedBatched_64, std::int64_t, kHalf)
GEMM_STRIDED(cublasSgemmStridedBatched, int, kFloat)
GEMM_STRIDED(cublasSgemmStridedBatched_64, std::int64_t, kFloat)
GEMM_STRIDED(cublasDgemmStridedBatched, int, kDouble)
GEMM_STRIDED(cublasDgemmStridedBatched_64, std::int64_t, kDouble)

}  // namespace cotenant
