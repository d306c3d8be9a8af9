// How a long product is divided: by columns, by rows or by the matrices of a batch, of cublas and of cublasLt.
#include "client.h"

using namespace harness;

namespace {

using StridedGemm = int (*)(void*, int, int, int, int, int, const void*, const void*, int, int, long long, const void*,
                            int, int, long long, const void*, void*, int, int, long long, int, int, int);
void batches_go_by_matrices() {
  Client it;
  constexpr int kBatch = 32;
  constexpr long long kStride = 2ll * kRows * kTileColumns;
  const auto gemm = it.libraries.get<StridedGemm>("cublasGemmStridedBatchedEx");
  const auto multiply = [&] {
    return gemm(nullptr, 0, 0, kRows, kTileColumns, kDepth, nullptr, it.a, 2, kRows, 1000, it.b, 2, kDepth, 2000,
                nullptr, it.c(), 2, kRows, kStride / 2, kBatch, 68, -1);
  };
  it.learn(multiply);
  expect(multiply() == 0, "it succeeds");
  it.wait();
  unsigned done = 0;
  for (std::size_t i = 0; i < kBatch; ++i) done += it.result.word(i * kStride);
  expect(it.result.word(0) < kBatch && done == kBatch, "in parts, each matrix once");
  for (int i = 0; i < it.fake.calls; ++i) {
    const FakeCall& call = it.fake.call[i];
    const auto first = (static_cast<const char*>(call.c) - it.c()) / kStride;
    expect(static_cast<const char*>(call.a) - it.a == first * 2000 &&
               static_cast<const char*>(call.b) - it.b == first * 4000,
           "factors and result go together");
  }
}

// A product with few columns in memory.
void few_columns_go_by_rows() {
  Client it;
  constexpr int kFew = kTileColumns;
  const auto multiply = [&] {
    const auto gemm = reinterpret_cast<FramedGemm>(dlsym(it.libraries.framework, "framed_gemm"));
    return gemm(0, 32 * kRows, kFew, kDepth, it.a, it.b, it.c());
  };
  it.learn(multiply);
  expect(multiply() == 0, "it succeeds");
  it.wait();
  unsigned done = 0;
  for (int i = 0; i < it.fake.calls; ++i) {
    const FakeCall& call = it.fake.call[i];
    const auto first = (static_cast<const char*>(call.c) - it.c()) / 2;
    expect(call.n == kFew && call.b == it.b, "all columns and all of their factor");
    expect(static_cast<const char*>(call.a) - it.a == first * 2 * kDepth, "the other factor at the same row");
  }
  for (std::size_t row = 0; row < 32 * kRows; row += kPartColumns) done += it.result.word(2 * row);
  expect(it.result.word(0) == kFew && done > kFew && done % kFew == 0, "in parts, each launched once");
}

// Each part reads all of one factor again: of GPT-2's last layer, 10 MB or 128 MB.
void rows_first_where_columns_would_read_more() {
  Client it;
  constexpr int kSome = 4 * kTileColumns;
  const auto multiply = [&] {
    return reinterpret_cast<FramedGemm>(dlsym(it.libraries.framework, "framed_gemm"))(0, 8 * kRows, kSome, kDepth, it.a,
                                                                                      it.b, it.c());
  };
  it.learn(multiply);
  expect(multiply() == 0, "it succeeds");
  it.wait();
  int parts = 0;
  for (int i = 0; i < it.fake.calls; ++i) {
    expect(it.fake.call[i].n == kSome && it.fake.call[i].b == it.b, "no columns are divided");
    parts += it.fake.call[i].a != it.a;
  }
  expect(parts > 0 && it.client.slot().splitProducts.load() > 0, "rows are");
}

void the_other_side_where_one_gets_other_kernels() {
  Client it;
  it.fake.ns_per_wave = 100'000;
  it.fake.other_kernel_below = kColumns;
  const auto multiply = [&] {
    return reinterpret_cast<FramedGemm>(dlsym(it.libraries.framework, "framed_gemm"))(0, kColumns, kColumns, kDepth,
                                                                                      it.a, it.b, it.c());
  };
  it.learn(multiply);
  expect(multiply() == 0, "it succeeds");
  it.wait();
  unsigned done = 0;
  for (std::size_t row = 0; row < kColumns; row += kPartColumns) done += it.result.word(2 * row);
  expect(it.result.word(0) == kColumns && done > kColumns && done % kColumns == 0,
         "in parts by rows, each launched once");
}

using LtMatmul = int (*)(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*,
                         void*, void*, void*, const void*, void*, std::size_t, void*);
struct Lt {
  Client it;
  struct {
    std::int32_t transa = 1, transb = 0;
    std::uint32_t epilogue;
    std::int32_t pointer_mode = 0;
  } description{};
  void* layout[3] = {};
  explicit Lt(std::uint32_t epilogue) {
    description.epilogue = epilogue;
    const auto create = it.libraries.get<int (*)(void**, int, std::uint64_t, std::uint64_t, std::int64_t)>(
        "cublasLtMatrixLayoutCreate");
    create(&layout[0], 2, kDepth, kRows, kDepth);
    create(&layout[1], 2, kDepth, kColumns, kDepth);
    create(&layout[2], 2, kRows, kColumns, kRows);
  }
  int multiply() {
    const auto matmul = it.libraries.get<LtMatmul>("cublasLtMatmul");
    return matmul(nullptr, &description, nullptr, it.a, layout[0], it.b, layout[1], nullptr, it.c(), layout[2], it.c(),
                  layout[2], nullptr, nullptr, 0, it.stream);
  }
  void learn() {
    it.learn([this] { return multiply(); });
  }
};

void lt_products_with_a_bias() {
  Lt lt(36);  // GELU and bias
  lt.learn();
  expect(lt.multiply() == 0, "it succeeds");
  lt.it.expect_in_parts("a product of cublasLt with a bias");
}

void lt_products_that_keep_more() {
  Lt lt(164);  // and what the backward pass wants, in a matrix of its own
  lt.learn();
  expect(lt.multiply() == 0, "it succeeds");
  lt.it.expect_whole("a product of cublasLt with an auxiliary result");
}

// A batch in cublasLt, as convolutions of width 1 are: all share one factor.
struct LtBatch : Lt {
  static constexpr int kBatch = 32;
  static constexpr std::int64_t kStride = std::int64_t{kRows} * kTileColumns;
  LtBatch() : Lt(1) {
    const auto set =
        it.libraries.get<int (*)(void*, int, const void*, std::size_t)>("cublasLtMatrixLayoutSetAttribute");
    const auto create = it.libraries.get<int (*)(void**, int, std::uint64_t, std::uint64_t, std::int64_t)>(
        "cublasLtMatrixLayoutCreate");
    create(&layout[1], 2, kDepth, kTileColumns, kDepth);
    create(&layout[2], 2, kRows, kTileColumns, kRows);
    const std::int64_t strides[] = {0, 1000, kStride};
    const std::int32_t batch = kBatch;
    for (int i = 0; i < 3; ++i) {
      set(layout[i], 5, &batch, sizeof batch);
      set(layout[i], 6, &strides[i], sizeof strides[i]);
    }
  }
};

void lt_batches_go_by_matrices() {
  LtBatch lt;
  lt.learn();
  expect(lt.multiply() == 0, "it succeeds");
  lt.it.wait();
  unsigned done = 0;
  for (std::size_t i = 0; i < LtBatch::kBatch; ++i) done += lt.it.result.word(i * 2 * LtBatch::kStride);
  expect(lt.it.result.word(0) < LtBatch::kBatch && done == LtBatch::kBatch, "in parts, each matrix once");
  for (int i = 0; i < lt.it.fake.calls; ++i) {
    const FakeCall& call = lt.it.fake.call[i];
    const auto first = (static_cast<const char*>(call.c) - lt.it.c()) / (2 * LtBatch::kStride);
    expect(call.a == lt.it.a && static_cast<const char*>(call.b) - lt.it.b == first * 2000, "each with its own factor");
  }
}

void lt_batches_that_differ_run_whole() {
  LtBatch lt;
  const auto whole = [&](const std::string& what) {
    lt.learn();
    expect(lt.multiply() == 0, "it succeeds");
    lt.it.wait();
    expect(lt.it.result.word(0) == LtBatch::kBatch, what + " runs whole");
  };
  lt.description.epilogue = 4;
  whole("a batch whose matrices may have a bias each");
  lt.description.epilogue = 1;
  lt.description.pointer_mode = 2;
  whole("a batch whose matrices may have a vector of factors each");
  lt.description.pointer_mode = 0;
  const std::int32_t by_pointers = 1;
  lt.it.libraries.get<int (*)(void*, int, const void*, std::size_t)>("cublasLtMatrixLayoutSetAttribute")(
      lt.layout[1], 8, &by_pointers, sizeof by_pointers);
  whole("a batch of matrices at any place");
}

constexpr Case kCases[] = {
    {"batches are divided by matrices", batches_go_by_matrices},
    {"few columns are divided by rows", few_columns_go_by_rows},
    {"rows first, where columns would read more", rows_first_where_columns_would_read_more},
    {"the other side, where one gets other kernels", the_other_side_where_one_gets_other_kernels},
    {"products of cublasLt with a bias are divided", lt_products_with_a_bias},
    {"products of cublasLt that keep more run whole", lt_products_that_keep_more},
    {"batches of cublasLt are divided by matrices", lt_batches_go_by_matrices},
    {"batches of cublasLt with more of each matrix's own run whole", lt_batches_that_differ_run_whole},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
