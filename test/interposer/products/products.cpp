// Long matrix products through cuBLAS (a stand-in, blas/fake.cpp): in parts where that is sure to be the same, and as
// they are everywhere else.
#include <algorithm>
#include <numeric>
#include <set>

#include "../fixture.h"
#include "blas/fake.h"

using namespace harness;

namespace {

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

void a_long_product_runs_in_parts() {
  Client it;
  it.learn();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_in_parts("a long product");
  expect(it.client.slot().splitProducts.load() >= 1, "it is counted");
}

template <int kTransposed>
void parts_take_their_own_columns() {
  Client it;
  it.learn([&] { return it.multiply(kTransposed); });
  expect(it.multiply(kTransposed) == 0, "it succeeds");
  std::set<std::int64_t> seen;
  for (int i = 0; i < it.fake.calls; ++i) {
    const FakeCall& call = it.fake.call[i];
    const auto bytes = static_cast<const char*>(call.c) - it.c();
    const std::int64_t first = bytes / (2 * kRows);
    expect(bytes % (2 * kRows) == 0 && first % kPartColumns == 0, "a part begins at a column, aligned");
    expect(static_cast<const char*>(call.b) - it.b == first * 2 * (kTransposed ? 1 : kDepth),
           "at the same column of one factor");
    expect(call.a == it.a, "with all of the other");
    seen.insert(first);
  }
  expect(seen.size() > 1, "there are parts");
}

void a_request_goes_between_the_parts() {
  Client it;
  it.fake.ns_per_wave = 12'000'000;
  it.client.agent.region().settings.submitUs = 100'000;  // all of it is submitted at once
  it.learn();
  expect(it.multiply() == 0, "it succeeds");
  eventually([&] { return it.done() > 0; }, "the first part is done");
  it.client.request_begins();
  sleep_ms(20);
  expect(it.done() < kColumns, "the product has stopped before its end");
  it.client.request_ends();
  it.expect_in_parts("the product");
}

void what_is_short_runs_whole() {
  Client it;
  it.fake.ns_per_wave = 80'000;
  it.learn();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_whole("a short product");
  expect(it.fake.calls == 1, "and nothing is asked");
}

void another_kernel_for_less_columns() {
  Client it;
  it.fake.other_kernel_below = kColumns;
  it.learn();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_whole("a product whose parts would get another kernel");
  expect(it.client.slot().splitProducts.load() == 0, "nothing is counted");
}

// What a handle is set to may change between two calls.
void another_kernel_all_at_once() {
  Client it;
  it.learn();
  it.fake.other_kernel_below = kColumns;
  expect(it.multiply() == 0, "it succeeds");
  it.expect_whole("the product");
}

// Some other kernel for the smallest parts only: larger ones it is.
void another_kernel_for_the_smallest_parts() {
  Client it;
  it.fake.other_kernel_below = 2 * kPartColumns + 1;
  it.learn();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_in_parts("the product");
  for (int i = 0; i < it.fake.calls; ++i) expect(it.fake.call[i].n > 2 * kPartColumns, "no part is that small");
}

// cublasLt can be told what the library would not choose.
void the_algorithm_of_the_whole_for_the_parts() {
  Client it;
  it.fake.algorithms = true;
  it.fake.other_kernel_below = kColumns;
  it.learn();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_in_parts("a product whose parts would get another kernel");
}

void the_algorithm_of_the_whole_in_two_kernels() {
  Client it;
  it.fake.algorithms = true;
  it.fake.second_kernel = true;
  it.learn();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_in_parts("a product of two kernels");
  expect(it.fake.workspace > 1u << 16, "with memory for what is between them");
}

void the_algorithm_is_that_of_the_whole_now() {
  Client it;
  it.fake.algorithms = true;
  it.learn();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_in_parts("the product");
  it.result.clear();
  it.fake.other_kernel_below = kColumns + 1;
  expect(it.multiply() == 0, "it succeeds");
  it.expect_whole("with another algorithm from now on, the product");
  it.multiply_until_in_parts("after a while it is looked for anew");
  it.result.clear();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_in_parts("the product with the other algorithm");
}

void two_kernels_run_whole() {
  Client it;
  it.fake.second_kernel = true;
  it.learn();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_whole("a product of two kernels");
}

void kernels_that_loop_over_tiles() {
  Client it;
  it.fake.loops = true;
  it.learn();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_in_parts("a product by a kernel that loops over its tiles");
}

// All blocks are on the GPU at once: a part of them takes as long as all.
void one_wave_runs_whole() {
  Client it;
  it.fake.ns_per_wave = 4'000'000;
  const auto small = [&] {
    const auto gemm = reinterpret_cast<FramedGemm>(dlsym(it.libraries.framework, "framed_gemm"));
    return gemm(0, 4 * kTileRows, kColumns, 2 * kRows, it.a, it.b, it.c());
  };
  it.learn(small);
  expect(small() == 0, "it succeeds");
  it.wait();
  expect(it.result.word(0) == kColumns, "a product of one wave runs whole");
}

void parts_that_cost_too_much_become_longer() {
  Client it;
  it.learn();
  it.fake.more_ns = 600'000;
  for (int i = 0; i < 100; ++i) {
    expect(it.multiply() == 0, "it succeeds");
    it.wait();
  }
  it.result.clear();
  expect(it.multiply() == 0, "it succeeds");
  it.wait();
  const std::vector<unsigned> found = it.columns();
  const auto parts = found.size() - static_cast<std::size_t>(std::count(found.begin(), found.end(), 0u));
  expect(parts <= 3, "where each part costs 0.6 ms more there are few of them, not " + std::to_string(parts));
  expect(it.done() == kColumns, "and each column is computed once");
}

// Some launches took longer than they do: another context had the GPU, or a CPU was late.
void a_disturbed_sample_decides_nothing() {
  Client it;
  it.learn();
  for (int i = 0; i < 30; ++i) {
    it.fake.more_ns = i % 4 == 0 ? 5'000'000 : 0;
    expect(it.multiply() == 0, "it succeeds");
    it.wait();
  }
  it.fake.more_ns = 0;
  it.result.clear();
  it.fake.calls = 0;
  expect(it.multiply() == 0, "it succeeds");
  it.expect_in_parts("the product");
  expect(it.fake.call[it.fake.calls - 1].n <= 4 * kPartColumns, "in parts as short as at first");
}

// As while many programs start on one GPU.
void a_whole_that_was_disturbed_is_timed_anew() {
  Client it;
  it.client.agent.region().settings.splitProductsUs = 1700;
  it.fake.more_ns = 12'000'000;
  for (int i = 0; i < 4; ++i) {
    expect(it.multiply() == 0, "it succeeds");
    it.wait();
  }
  it.fake.more_ns = 0;
  eventually(
      [&] {
        it.result.clear();
        expect(it.multiply() == 0, "it succeeds");
        it.wait();
        const std::vector<unsigned> found = it.columns();
        return found.size() - static_cast<std::size_t>(std::count(found.begin(), found.end(), 0u)) == 2;
      },
      "of 4 ms there are two parts, where 16 ms would be eight");
}

void what_was_refused_is_tried_again() {
  Client it;
  it.fake.other_kernel_below = kColumns;
  it.learn();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_whole("a product whose parts would get another kernel");
  it.fake.other_kernel_below = 0;
  it.multiply_until_in_parts("where they would get the same, it runs in parts after a while");
  it.result.clear();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_in_parts("the product");
}

void an_error_is_the_librarys() {
  Client it;
  it.learn();
  it.fake.status = 14;
  expect(it.multiply() == 14, "the program gets it");
  it.fake.status = 0;
  expect(it.multiply() == 0, "and goes on");
  it.expect_in_parts("the next product");
}

void nothing_of_ours_without_a_request_to_expect() {
  Client it;
  it.learn();
  it.client.agent.region().activity.registered = 0;
  expect(it.multiply() == 0, "it succeeds");
  it.expect_whole("a product on a GPU of one's own");
  it.client.agent.region().activity.registered = 1u << 9;
  it.client.agent.region().settings.splitProductsUs = 0;
  it.result.clear();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_whole("a product where the rules say so");
}

void a_recorded_product_stays_whole() {
  Client it;
  it.learn();
  OK(cuda().cuStreamBeginCapture_v2(it.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  expect(it.multiply() == 0, "it succeeds");
  CUgraph graph = nullptr;
  OK(cuda().cuStreamEndCapture(it.stream, &graph));
  std::size_t nodes = 0;
  OK(cuda().cuGraphGetNodes(graph, nullptr, &nodes));
  expect(nodes == 1 && it.fake.calls == 1, "one kernel is recorded, as if we were not there");
}

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

void high_products_are_left_alone() {
  With<High> it;
  it.client.agent.region().settings.splitProductsUs = 1;
  for (int i = 0; i < 8; ++i) expect(it.multiply() == 0, "it succeeds");
  it.wait();
  expect(it.fake.calls == 8 && it.result.word(0) == 8 * kColumns, "one call each");
  expect(dlsym(it.libraries.blas, "cublasGemmEx") != dlsym(RTLD_DEFAULT, "cublasGemmEx"),
         "who looks it up gets the library's");
}

// Its function of that name is called by way of ours, and calls ours.
template <class It>
void by_way_of_a_stub(It& it) {
  for (int i = 0; i < 8; ++i) {
    it.result.clear();
    expect(it.multiply_by(it.libraries.stub) == 0, "it succeeds");
    it.wait();
    expect(it.done() == kColumns, "and each column is computed once");
  }
}
void a_stub_finds_the_library() {
  Client it;
  by_way_of_a_stub(it);
  it.expect_in_parts("the product");
}
void a_stub_of_a_high_client_finds_the_library() {
  With<High> it;
  by_way_of_a_stub(it);
  it.expect_whole("the product");
}

void threads_multiply_at_once() {
  Client it;
  it.learn();
  const auto some = [&] {
    OK(cuda().cuCtxSetCurrent(it.client.program.context));
    for (int i = 0; i < 6; ++i) expect(it.multiply() == 0, "it succeeds");
  };
  std::thread other(some);
  some();
  other.join();
  it.wait();
  expect(it.done() == 12 * kColumns, "each column of each product once");
}

constexpr Case kCases[] = {
    {"a long product runs in parts", a_long_product_runs_in_parts},
    {"parts take their own columns", parts_take_their_own_columns<0>},
    {"parts of a transposed factor take their own columns", parts_take_their_own_columns<1>},
    {"a request goes between the parts", a_request_goes_between_the_parts},
    {"what is short runs whole", what_is_short_runs_whole},
    {"whole, if parts get another kernel", another_kernel_for_less_columns},
    {"whole, if parts get another kernel from now on", another_kernel_all_at_once},
    {"larger parts, if the smallest get another kernel", another_kernel_for_the_smallest_parts},
    {"parts get the whole's algorithm", the_algorithm_of_the_whole_for_the_parts},
    {"parts get the whole's algorithm of two kernels", the_algorithm_of_the_whole_in_two_kernels},
    {"whole, if its algorithm is another from now on", the_algorithm_is_that_of_the_whole_now},
    {"whole, if it takes two kernels", two_kernels_run_whole},
    {"kernels that loop over their tiles are divided by tiles", kernels_that_loop_over_tiles},
    {"whole, if all blocks run at once", one_wave_runs_whole},
    {"parts that cost too much become longer", parts_that_cost_too_much_become_longer},
    {"a disturbed sample decides nothing", a_disturbed_sample_decides_nothing},
    {"a whole that was disturbed is timed anew", a_whole_that_was_disturbed_is_timed_anew},
    {"what was refused is tried again", what_was_refused_is_tried_again},
    {"an error is the library's", an_error_is_the_librarys},
    {"whole, where nobody waits or the rules say so", nothing_of_ours_without_a_request_to_expect},
    {"a recorded product stays whole", a_recorded_product_stays_whole},
    {"batches are divided by matrices", batches_go_by_matrices},
    {"few columns are divided by rows", few_columns_go_by_rows},
    {"rows first, where columns would read more", rows_first_where_columns_would_read_more},
    {"the other side, where one gets other kernels", the_other_side_where_one_gets_other_kernels},
    {"products of cublasLt with a bias are divided", lt_products_with_a_bias},
    {"products of cublasLt that keep more run whole", lt_products_that_keep_more},
    {"batches of cublasLt are divided by matrices", lt_batches_go_by_matrices},
    {"batches of cublasLt with more of each matrix's own run whole", lt_batches_that_differ_run_whole},
    {"high clients' products are left alone", high_products_are_left_alone},
    {"functions of the same name find the library", a_stub_finds_the_library},
    {"those of a high client find it, too", a_stub_of_a_high_client_finds_the_library},
    {"threads multiply at once", threads_multiply_at_once},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
