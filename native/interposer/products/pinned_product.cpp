#include "interposer/products/pinned_product.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "interposer/lookup/entry.h"

namespace cotenant {
namespace {

// cublasLt's attributes.
enum Layout { kType = 0, kBatch = 5, kStride = 6 };
enum Description { kPointerMode = 2, kTransA = 3, kTransB = 4 };
enum Preference { kMaxWorkspace = 1, kAlignmentA = 5, kAlignmentB = 6, kAlignmentC = 7, kAlignmentD = 8 };

// cublasComputeType_t and cudaDataType.
constexpr int kCompute16F = 64;
constexpr int kCompute32F = 68;
constexpr int kCompute64F = 70;
constexpr int kComputeTf32 = 77;
constexpr int kReal32F = 0;
constexpr int kReal64F = 1;
constexpr int kReal16F = 2;

// As much as cuBLAS takes for itself on a Hopper GPU.
constexpr std::uint64_t kWorkspace = 32u << 20;

// cublasLtMatmulHeuristicResult_t
struct Result {
  std::uint64_t algorithm[8];
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Result) == 96);

int scale_of(int compute) noexcept {
  if (compute == kCompute16F || compute == kCompute16F + 1) return kReal16F;
  return compute == kCompute64F || compute == kCompute64F + 1 ? kReal64F : kReal32F;
}

std::uint32_t alignment_of(const void* at) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(address & (~address + 1), 256));
}

}  // namespace

std::int64_t blas_size_of(int type) noexcept {
  switch (type) {
    case 3: return 1;                            // R_8I
    case 2:
    case 14: return 2;                   // R_16F, R_16BF
    case 0:
    case 6:
    case 10:
    case 15: return 4;  // R_32F, C_16F, R_32I, C_16BF
    case 1:
    case 4: return 8;                    // R_64F, C_32F
    case 5: return 16;                           // C_64F
    default: return 0;
  }
}

const LtFunctions* lt_functions(void* function) noexcept {
  struct Place {
    std::atomic<void*> of{nullptr};
    std::atomic<int> state{0};  // 1: they are there; 2: they are not
    LtFunctions functions{};
  };
  static __constinit Place places[64]{};
  for (Place& place : places) {
    void* known = place.of.load(std::memory_order_acquire);
    if (!known && place.of.compare_exchange_strong(known, function, std::memory_order_acq_rel)) {
      LtFunctions& f = place.functions;
      bool all = true;
      const auto find = [&](auto& into, const char* name) {
        void* found = blas_sibling(function, name);
        into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(found);
        all = all && found;
      };
      find(f.matmul, "cublasLtMatmul");
      find(f.layout_get, "cublasLtMatrixLayoutGetAttribute");
      find(f.layout_set, "cublasLtMatrixLayoutSetAttribute");
      find(f.layout_create, "cublasLtMatrixLayoutCreate");
      find(f.layout_destroy, "cublasLtMatrixLayoutDestroy");
      find(f.product_get, "cublasLtMatmulDescGetAttribute");
      find(f.product_set, "cublasLtMatmulDescSetAttribute");
      find(f.product_create, "cublasLtMatmulDescCreate");
      find(f.product_destroy, "cublasLtMatmulDescDestroy");
      find(f.preference_set, "cublasLtMatmulPreferenceSetAttribute");
      find(f.preference_create, "cublasLtMatmulPreferenceCreate");
      find(f.preference_destroy, "cublasLtMatmulPreferenceDestroy");
      find(f.heuristic, "cublasLtMatmulAlgoGetHeuristic");
      // libcublasLt itself has no such handles; nobody asks about them there.
      const bool whole = all;
      find(f.stream, "cublasGetStream_v2");
      find(f.pointer_mode, "cublasGetPointerMode_v2");
      place.state.store(whole ? 1 : 2, std::memory_order_release);
      return whole ? &f : nullptr;
    }
    if (known == function) return place.state.load(std::memory_order_acquire) == 1 ? &place.functions : nullptr;
  }
  return nullptr;
}

// Describes `count` lines from `first` on, and calls use(description, a, its layout, b, its layout, c, its layout).
template <class Use>
int PinnedProduct::with_descriptions(int compute, std::int64_t first, std::int64_t count, Use use) const noexcept {
  const bool columns = lines_ == Lines::kColumns, rows = lines_ == Lines::kRows, matrices = lines_ == Lines::kMatrices;
  const std::int64_t m = rows ? count : p_.m, n = columns ? count : p_.n, batch = matrices ? count : p_.batch;
  const bool plain_a = p_.transa == kPlain, plain_b = p_.transb == kPlain;
  const auto at = [&](const void* matrix, std::int64_t elements, int type) {
    return static_cast<const char*>(matrix) + elements * blas_size_of(type);
  };
  const void* a = at(o_.a, matrices ? first * p_.stride_a : rows ? first * (plain_a ? 1 : p_.lda) : 0, p_.at);
  const void* b = at(o_.b, matrices ? first * p_.stride_b : columns ? first * (plain_b ? p_.ldb : 1) : 0, p_.bt);
  const void* c = at(o_.c, matrices ? first * p_.stride_c : columns ? first * p_.ldc : rows ? first : 0, p_.ct);

  LtObject description(f_->product_destroy), of_a(f_->layout_destroy), of_b(f_->layout_destroy),
      of_c(f_->layout_destroy);
  int mode = 0;
  if (!f_->pointer_mode || f_->pointer_mode(o_.handle, &mode) != 0) return kNotInitialized;
  const auto tell = [&](int attribute, std::int32_t value) {
    return f_->product_set(description.get(), attribute, &value, sizeof value) == 0;
  };
  const auto lay_out = [&](LtObject& layout, int type, std::int64_t high, std::int64_t wide, std::int64_t ld,
                           std::int64_t stride) {
    if (f_->layout_create(layout.into(), type, static_cast<std::uint64_t>(high), static_cast<std::uint64_t>(wide),
                          ld) != 0)
      return false;
    if (p_.batch == 1) return true;
    const auto matrix_count = static_cast<std::int32_t>(batch);
    return f_->layout_set(layout.get(), kBatch, &matrix_count, sizeof matrix_count) == 0 &&
           f_->layout_set(layout.get(), kStride, &stride, sizeof stride) == 0;
  };
  const bool ready = f_->product_create(description.into(), compute, scale_of(compute)) == 0 &&
                     tell(kPointerMode, mode) && tell(kTransA, p_.transa) && tell(kTransB, p_.transb) &&
                     lay_out(of_a, p_.at, plain_a ? m : p_.k, plain_a ? p_.k : m, p_.lda, p_.stride_a) &&
                     lay_out(of_b, p_.bt, plain_b ? p_.k : n, plain_b ? n : p_.k, p_.ldb, p_.stride_b) &&
                     lay_out(of_c, p_.ct, m, n, p_.ldc, p_.stride_c);
  if (!ready) return kNotInitialized;
  return use(description.get(), a, of_a.get(), b, of_b.get(), const_cast<void*>(c), of_c.get());
}

int PinnedProduct::algorithms(LtAlgorithm (&into)[kAlgorithms]) const noexcept {
  int found = 0;
  const auto look = [&](int compute) {
    if (found == kAlgorithms) return;
    LtObject preference(f_->preference_destroy);
    Result results[kAlgorithms] = {};
    int returned = 0;
    const auto prefer = [&](int attribute, auto value) {
      f_->preference_set(preference.get(), attribute, &value, sizeof value);
    };
    if (f_->preference_create(preference.into()) != 0) return;
    prefer(kMaxWorkspace, kWorkspace);
    prefer(kAlignmentA, alignment_of(o_.a));
    prefer(kAlignmentB, alignment_of(o_.b));
    prefer(kAlignmentC, alignment_of(o_.c));
    prefer(kAlignmentD, alignment_of(o_.c));
    const std::int64_t lines = lines_ == Lines::kColumns ? p_.n : lines_ == Lines::kRows ? p_.m : p_.batch;
    const int status = with_descriptions(
        compute, 0, lines, [&](void* description, const void*, void* a, const void*, void* b, void*, void* c) {
          return f_->heuristic(o_.handle, description, a, b, c, c, preference.get(), kAlgorithms - found, results,
                               &returned);
        });
    for (int i = 0; status == 0 && i < returned; ++i) {
      if (results[i].state != 0 || results[i].workspace > kWorkspace) continue;
      LtAlgorithm& algorithm = into[found++];
      std::memcpy(algorithm.data, results[i].algorithm, sizeof algorithm.data);
      algorithm.workspace = results[i].workspace;
      algorithm.compute = compute;
    }
  };
  if (p_.compute != 0) look(p_.compute);
  else if (p_.ct == kReal64F) look(kCompute64F);
  else if (p_.which == Blas::cublasHgemm || p_.which == Blas::cublasHgemm_64) look(kCompute16F);
  else {
    look(kCompute32F);
    if (found > kAlgorithms / 2) found = kAlgorithms / 2;
    look(kComputeTf32);
  }
  return found;
}

int PinnedProduct::give(const LtAlgorithm& algorithm, std::uint64_t workspace, std::int64_t first,
                        std::int64_t count) const noexcept {
  cu::CUstream launches_in = nullptr;
  if (!stream(launches_in)) return kNotInitialized;
  return with_descriptions(
      algorithm.compute, first, count,
      [&](void* description, const void* a, void* of_a, const void* b, void* of_b, void* c, void* of_c) {
        return f_->matmul(o_.handle, description, o_.alpha, a, of_a, b, of_b, o_.beta, c, of_c, c, of_c, algorithm.data,
                          reinterpret_cast<void*>(workspace), algorithm.workspace, launches_in);
      });
}

bool PinnedProduct::stream(cu::CUstream& into) const noexcept {
  void* found = nullptr;
  if (!f_->stream || f_->stream(o_.handle, &found) != 0) return false;
  into = static_cast<cu::CUstream>(found);
  return true;
}

Workspace::Workspace(const PinnedProduct& product, const LtAlgorithm& algorithm) noexcept {
  if (algorithm.workspace == 0) return;
  const auto& driver = real();
  ready_ = driver.cuMemAllocAsync && driver.cuMemFreeAsync && product.stream(stream_) &&
           driver.cuMemAllocAsync(&at_, algorithm.workspace, stream_) == cu::CUDA_SUCCESS;
}

Workspace::~Workspace() {
  if (at_) static_cast<void>(real().cuMemFreeAsync(at_, stream_));
}

}  // namespace cotenant
