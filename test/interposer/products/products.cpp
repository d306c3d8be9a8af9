// Long matrix products through cuBLAS (a stand-in, blas/fake.cpp): in parts where that is sure to be the same, and as
// they are everywhere else.
#include <set>

#include "client.h"

using namespace harness;

namespace {

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

void another_kernel_for_less_columns() {
  Client it;
  it.fake.other_kernel_below = kColumns;
  it.learn();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_whole("a product whose parts would get another kernel");
  expect(it.client.slot().splitProducts.load() == 0, "nothing is counted");
}

// The settings of a handle may change between two calls.
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
  it.client.agent.region().roster.registered = 0;
  expect(it.multiply() == 0, "it succeeds");
  it.expect_whole("a product on a GPU of one's own");
  it.client.agent.region().roster.registered = 1;
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
    {"whole, if parts get another kernel", another_kernel_for_less_columns},
    {"whole, if parts get another kernel from now on", another_kernel_all_at_once},
    {"larger parts, if the smallest get another kernel", another_kernel_for_the_smallest_parts},
    {"parts get the whole's algorithm", the_algorithm_of_the_whole_for_the_parts},
    {"parts get the whole's algorithm of two kernels", the_algorithm_of_the_whole_in_two_kernels},
    {"whole, if its algorithm is another from now on", the_algorithm_is_that_of_the_whole_now},
    {"whole, if it takes two kernels", two_kernels_run_whole},
    {"kernels that loop over their tiles are divided by tiles", kernels_that_loop_over_tiles},
    {"an error is the library's", an_error_is_the_librarys},
    {"whole, where nobody waits or the rules say so", nothing_of_ours_without_a_request_to_expect},
    {"a recorded product stays whole", a_recorded_product_stays_whole},
    {"high clients' products are left alone", high_products_are_left_alone},
    {"functions of the same name find the library", a_stub_finds_the_library},
    {"those of a high client find it, too", a_stub_of_a_high_client_finds_the_library},
    {"threads multiply at once", threads_multiply_at_once},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
