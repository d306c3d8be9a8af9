// The wrapper of cublasLt, in which layouts describe the matrices, so each part gets layouts of its own. The
// declarations are the interposer's own; handles and enumerations are passed on unchanged.
#include "interposer/products/wrapper.h"

namespace cotenant {
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
    // An attribute that an older library does not know has its former meaning: complex numbers in one place, matrices
    // at a stride.
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

// Sets the number of matrices of a batch.
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

// In a batch only the matrices themselves may differ from one to the next. A bias and a vector of factors can differ,
// too.
bool by_matrix(std::uint32_t epilogue, std::int32_t pointer_mode) noexcept {
  constexpr std::int32_t kScalars = 1;  // CUBLASLT_POINTER_MODE_HOST, _DEVICE; higher values are modes with vectors
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
      return matrices ? advance(matrices, first * layout.stride * blas_size_of(static_cast<int>(layout.type)))
                      : nullptr;
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
      return matrix ? advance(matrix, first * each * blas_size_of(static_cast<int>(layout.type))) : nullptr;
    };
    return real(handle, desc, alpha, a, a_layout, at(b, lb, plain ? lb.ld : 1), b_part.get(), beta, at(c, lc, lc.ld),
                c_part.get(), const_cast<void*>(at(static_cast<const void*>(d), ld, ld.ld)), d_part.get(), algo,
                workspace, workspace_size, stream);
  };
  std::int64_t chosen = 0;
  if (algo)
    for (int i = 0; i < 8; ++i)
      chosen = static_cast<std::int64_t>(mix({chosen, static_cast<const std::int64_t*>(algo)[i]}));
  const std::uint64_t key = mix({static_cast<std::int64_t>(kWhich),
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
