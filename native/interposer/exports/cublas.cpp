// The wrappers of cuBLAS: what a call multiplies, and the same call for a part of the columns. The declarations are our
// own; handles and enumerations are passed on as they come.
#include <initializer_list>

#include "interposer/base/hash.h"
#include "interposer/process/process.h"
#include "interposer/products/parts.h"
#include "interposer/products/pinned.h"

namespace cotenant {
namespace {

constexpr std::int64_t kStep = 128;  // whole tiles, and data aligned as before
constexpr int kUsual = 0;  // Matrices::compute

constexpr int kHalf = 2;
constexpr int kFloat = 0;
constexpr int kDouble = 1;

const void* moved(const void* at, std::int64_t bytes) noexcept { return static_cast<const char*>(at) + bytes; }
void* moved(void* at, std::int64_t bytes) noexcept { return static_cast<char*>(at) + bytes; }

std::uint64_t mixed(std::initializer_list<std::int64_t> values) noexcept {
  std::uint64_t hash = 0;
  for (const std::int64_t value : values) hash = folded(hash, static_cast<std::uint64_t>(value));
  return hash | 1;
}

// How the data is aligned decides which kernels can take it.
std::int64_t alignment(const void* at) noexcept {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) & 255);
}

std::uint64_t key_of(const Matrices& p, const void* a, const void* b, const void* c) noexcept {
  return mixed({static_cast<std::int64_t>(p.which),
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

bool divisible(const Matrices& p) noexcept {
  if (role() != Role::kBestEffort) return false;
  const double operations = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
                            static_cast<double>(p.batch);
  return operations >= kSmallProduct && blas_size_of(p.at) && blas_size_of(p.bt) && blas_size_of(p.ct);
}

struct Sizes {
  std::int64_t rows, columns, matrices;
};

template <class Part>
Division way(const Product& product, const Part& part, const PinnedProduct* pinned) noexcept {
  const GivePart give_part = [](const void* self, std::int64_t first, std::int64_t count) {
    return (*static_cast<const Part*>(self))(first, count);
  };
  return {product, give_part, &part, pinned};
}

// `call(a, b, c, sizes)` calls the library's `function`.
template <class Call>
int give(const Matrices& p, const Operands& o, void* function, const Call& call) noexcept {
  const Sizes all{p.m, p.n, p.batch};
  if (!divisible(p)) return call(o.a, o.b, o.c, all);
  const std::int64_t a_bytes = blas_size_of(p.at), b_bytes = blas_size_of(p.bt), c_bytes = blas_size_of(p.ct);
  const auto of_columns = [&](std::int64_t first, std::int64_t count) {
    return call(o.a, moved(o.b, first * (p.transb == kPlain ? p.ldb : 1) * b_bytes),
                moved(o.c, first * p.ldc * c_bytes), Sizes{p.m, count, p.batch});
  };
  const auto of_rows = [&](std::int64_t first, std::int64_t count) {
    return call(moved(o.a, first * (p.transa == kPlain ? 1 : p.lda) * a_bytes), o.b, moved(o.c, first * c_bytes),
                Sizes{count, p.n, p.batch});
  };
  const auto of_matrices = [&](std::int64_t first, std::int64_t count) {
    return call(moved(o.a, first * p.stride_a * a_bytes), moved(o.b, first * p.stride_b * b_bytes),
                moved(o.c, first * p.stride_c * c_bytes), Sizes{p.m, p.n, count});
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

template <class Function>
Function library(Blas which, void* caller) noexcept {
  return reinterpret_cast<Function>(blas_function(which, caller));
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

#define EXPORT extern "C" __attribute__((visibility("default"))) int
#define REAL(type)                                                      \
  const auto real = library<type>(kWhich, __builtin_return_address(0)); \
  if (!real) return kNotInitialized;

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

// cublasLt describes matrices by layouts, which parts need of their own.
namespace {

struct LtLayout {
  std::uint32_t type{0};
  std::int32_t order{0};
  std::uint64_t rows{0}, columns{0};
  std::int64_t ld{0};
  std::int32_t batch{0};
  std::int64_t stride{0};  // from one matrix of a batch to the next, in elements

  // False: not plain column-major matrices.
  bool read(const LtFunctions& f, void* layout) noexcept {
    const auto get = [&](int attribute, auto& value) {
      std::size_t written = 0;
      return f.layout_get(layout, attribute, &value, sizeof value, &written) == 0;
    };
    // What older libraries do not know is as it always was: complex numbers in one place, matrices at a stride.
    std::int64_t plane = 0;
    std::int32_t mode = 0;
    if (layout && ((get(7, plane) && plane != 0) || (get(8, mode) && mode != 0))) return false;
    return layout && get(0, type) && get(1, order) && get(2, rows) && get(3, columns) && get(4, ld) && get(5, batch) &&
           (batch == 1 || get(6, stride)) && order == 0 && batch >= 1 && blas_size_of(static_cast<int>(type)) > 0;
  }
};

bool lay_out(const LtFunctions& f, LtObject& into, const LtLayout& like, std::uint64_t rows,
             std::uint64_t columns) noexcept {
  return f.layout_create(into.into(), static_cast<int>(like.type), rows, columns, like.ld) == 0;
}

// So many matrices of a batch.
bool lay_out(const LtFunctions& f, LtObject& into, const LtLayout& like, std::int64_t count) noexcept {
  const auto batch = static_cast<std::int32_t>(count);
  return lay_out(f, into, like, like.rows, like.columns) && f.layout_set(into.get(), 5, &batch, sizeof batch) == 0 &&
         f.layout_set(into.get(), 6, &like.stride, sizeof like.stride) == 0;
}

constexpr std::uint32_t kBias = 4;

// Epilogues that look at one element and its row alone: none, ReLU, GELU, each with or without a bias.
bool by_element(std::uint32_t epilogue) noexcept {
  const std::uint32_t without = epilogue & ~kBias;
  return epilogue == kBias || without == 1 || without == 2 || without == 32;
}

// Of a batch: nothing but the matrices themselves may differ from one to the next. A bias and a vector of factors can.
bool by_matrix(std::uint32_t epilogue, std::int32_t pointer_mode) noexcept {
  constexpr std::int32_t kScalars = 1;  // CUBLASLT_POINTER_MODE_HOST, _DEVICE; what is above are vectors
  return (epilogue & kBias) == 0 && pointer_mode >= 0 && pointer_mode <= kScalars;
}

}  // namespace

EXPORT cublasLtMatmul(void* handle, void* desc, const void* alpha, const void* a, void* a_layout, const void* b,
                      void* b_layout, const void* beta, const void* c, void* c_layout, void* d, void* d_layout,
                      const void* algo, void* workspace, std::size_t workspace_size, void* stream) {
  constexpr Blas kWhich = Blas::cublasLtMatmul;
  REAL(LtMatmul)
  const auto as_it_is = [&] {
    return real(handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algo, workspace,
                workspace_size, stream);
  };
  const LtFunctions* f =
      role() == Role::kBestEffort && !product_call ? lt_functions(reinterpret_cast<void*>(real)) : nullptr;
  LtLayout la, lb, lc, ld;
  std::int32_t ta = 0, tb = 0, tc = 0, compute = 0, pointer_mode = 0;
  std::uint32_t epilogue = 0;
  const auto get = [&](int attribute, auto& value) {
    std::size_t written = 0;
    return f->product_get(desc, attribute, &value, sizeof value, &written) == 0;
  };
  if (!f || !desc || !get(0, compute) || !get(3, ta) || !get(4, tb) || !get(5, tc) || !get(7, epilogue) ||
      tc != kPlain || !by_element(epilogue) || !la.read(*f, a_layout) || !lb.read(*f, b_layout) ||
      !lc.read(*f, c_layout) || !ld.read(*f, d_layout))
    return as_it_is();
  const auto columns = static_cast<std::int64_t>(ld.columns);
  const std::int64_t batch = ld.batch;
  const std::uint64_t k = ta == kPlain ? la.columns : la.rows;
  const double operations = 2.0 * static_cast<double>(ld.rows) * static_cast<double>(columns) * static_cast<double>(k);
  if (operations * static_cast<double>(batch) < kSmallProduct) return as_it_is();
  if (la.batch != batch || lb.batch != batch || lc.batch != batch) return as_it_is();
  if (batch > 1 && (!get(2, pointer_mode) || !by_matrix(epilogue, pointer_mode))) return as_it_is();

  const auto of_matrices = [&](std::int64_t first, std::int64_t count) {
    if (count == batch) return as_it_is();
    LtObject a_part(f->layout_destroy), b_part(f->layout_destroy), c_part(f->layout_destroy), d_part(f->layout_destroy);
    if (!lay_out(*f, a_part, la, count) || !lay_out(*f, b_part, lb, count) || !lay_out(*f, c_part, lc, count) ||
        !lay_out(*f, d_part, ld, count))
      return kNotInitialized;
    const auto at = [&](const void* matrices, const LtLayout& layout) {
      return matrices ? moved(matrices, first * layout.stride * blas_size_of(static_cast<int>(layout.type))) : nullptr;
    };
    return real(handle, desc, alpha, at(a, la), a_part.get(), at(b, lb), b_part.get(), beta, at(c, lc), c_part.get(),
                const_cast<void*>(at(d, ld)), d_part.get(), algo, workspace, workspace_size, stream);
  };
  const auto of_columns = [&](std::int64_t first, std::int64_t count) {
    if (count == columns) return as_it_is();
    const auto some = static_cast<std::uint64_t>(count);
    const bool plain = tb == kPlain;
    LtObject b_part(f->layout_destroy), c_part(f->layout_destroy), d_part(f->layout_destroy);
    if (!lay_out(*f, b_part, lb, plain ? lb.rows : some, plain ? some : lb.columns) ||
        !lay_out(*f, c_part, lc, lc.rows, some) || !lay_out(*f, d_part, ld, ld.rows, some))
      return kNotInitialized;
    const auto at = [&](const auto* matrix, const LtLayout& layout, std::int64_t each) {
      return matrix ? moved(matrix, first * each * blas_size_of(static_cast<int>(layout.type))) : nullptr;
    };
    return real(handle, desc, alpha, a, a_layout, at(b, lb, plain ? lb.ld : 1), b_part.get(), beta, at(c, lc, lc.ld),
                c_part.get(), const_cast<void*>(at(static_cast<const void*>(d), ld, ld.ld)), d_part.get(), algo,
                workspace, workspace_size, stream);
  };
  std::int64_t chosen = 0;
  if (algo)
    for (int i = 0; i < 8; ++i)
      chosen = static_cast<std::int64_t>(mixed({chosen, static_cast<const std::int64_t*>(algo)[i]}));
  const std::uint64_t key = mixed({static_cast<std::int64_t>(kWhich),
                                   ta,
                                   tb,
                                   static_cast<std::int64_t>(ld.rows),
                                   columns,
                                   static_cast<std::int64_t>(k),
                                   la.ld,
                                   lb.ld,
                                   lc.ld,
                                   ld.ld,
                                   la.type,
                                   lb.type,
                                   lc.type,
                                   ld.type,
                                   compute,
                                   epilogue,
                                   chosen,
                                   alignment(a),
                                   alignment(b),
                                   alignment(c),
                                   alignment(d),
                                   batch,
                                   la.stride,
                                   lb.stride,
                                   lc.stride,
                                   ld.stride});
  const auto rows = static_cast<std::int64_t>(ld.rows), depth = static_cast<std::int64_t>(k);
  const Division only =
      batch > 1 ? way({Lines::kMatrices, batch, 1, rows * columns, depth, algo != nullptr}, of_matrices, nullptr)
                : way({Lines::kColumns, columns, kStep, rows, depth, algo != nullptr}, of_columns, nullptr);
  return give_product(key, &only, 1);
}

}  // namespace cotenant
