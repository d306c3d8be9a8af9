// Decisions about a long product that follow from durations: when it is divided, how finely, and when that is tried
// again.
#include "client.h"

using namespace harness;

namespace {

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
  const auto gemm = reinterpret_cast<FramedGemm>(dlsym(it.libraries.framework, "framed_gemm"));
  int depth = kDepth;
  const auto multiply = [&] {
    expect(gemm(0, kRows, kColumns, depth, it.a, it.b, it.c()) == 0, "it succeeds");
    it.wait();
  };
  const auto parts = [&] {
    it.result.clear();
    multiply();
    const std::vector<unsigned> found = it.columns();
    return found.size() - static_cast<std::size_t>(std::count(found.begin(), found.end(), 0u));
  };
  // The machine may disturb the second timing, too. Then another product is tried.
  const auto timed_anew = [&] {
    depth += 16;
    it.fake.more_ns = 12'000'000;
    for (int i = 0; i < 4; ++i) multiply();
    it.fake.more_ns = 0;
    for (int i = 0; i < 200; ++i)
      if (parts() == 2) return true;
    return false;
  };
  eventually(timed_anew, "of 4 ms there are two parts, where 16 ms would be eight");
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

void what_is_short_runs_whole() {
  Client it;
  it.fake.ns_per_wave = 80'000;
  it.learn();
  expect(it.multiply() == 0, "it succeeds");
  it.expect_whole("a short product");
  expect(it.fake.calls == 1, "and nothing is asked");
}

constexpr Case kCases[] = {
    {"what is short runs whole", what_is_short_runs_whole},
    {"whole, if all blocks run at once", one_wave_runs_whole},
    {"parts that cost too much become longer", parts_that_cost_too_much_become_longer},
    {"a disturbed sample decides nothing", a_disturbed_sample_decides_nothing},
    {"a whole that was disturbed is timed anew", a_whole_that_was_disturbed_is_timed_anew},
    {"what was refused is tried again", what_was_refused_is_tried_again},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
