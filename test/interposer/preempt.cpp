// Long kernels whose PTX is known: made so that they can stop inside, and then stopped by a request.
#include "fixture.h"

using namespace harness;

namespace {

// The forms of the harness's kernels that can stop inside, as the agent would make them.
constexpr const char* kVariants = R"(
.version 7.8
.target sm_70
.address_size 64
//! soft ns=p0
.visible .entry spin__cotenant_preempt(.param .u64 ns, .param .u64 control, .param .u64 flag,
  .param .u32 x, .param .u32 y, .param .u32 z, .param .u32 epoch) { ret; }
//! soft ns=p2 effect=add(p0, p1)
.visible .entry count__cotenant_preempt(.param .u64 at, .param .u32 value, .param .u64 ns, .param .u64 control,
  .param .u64 flag, .param .u32 x, .param .u32 y, .param .u32 z, .param .u32 epoch) { ret; }
)";

constexpr const char* kCount = R"(
.version 7.8
.target sm_70
.address_size 64
//! soft ns=p2 effect=add(p0, p1)
.visible .entry count(.param .u64 at, .param .u32 value, .param .u64 ns) { ret; }
)";

// One kernel of 20 ms on 10,000 blocks that adds to a word when it is done.
struct Long {
  static constexpr std::uint64_t kUs = 20'000;
  BestEffort client;
  CUstream stream = make_stream();
  Word word;
  CUmodule module = nullptr;
  CUfunction count = nullptr;

  explicit Long(const char* variants = kVariants) {
    client.agent.variant = variants;
    OK(cuda().cuModuleLoadData(&module, kCount));
    OK(cuda().cuModuleGetFunction(&count, module, "count"));
  }

  void launch(unsigned value = 1) {
    CUdeviceptr at = word.device;
    std::uint64_t ns = kUs * 1000;
    void* parameters[] = {&at, &value, &ns};
    OK(cuda().cuLaunchKernel(count, 100, 100, 1, 128, 1, 1, 0, stream, parameters, nullptr));
  }
  void run() {
    launch();
    OK(cuda().cuStreamSynchronize(stream));
  }
  // Until it is known to be long, and its variant is there, or has been refused.
  void learn() {
    for (int i = 0; i < 6; ++i) run();
    eventually([&] { return client.agent.asked.load() > 0; }, "the agent is asked for a variant");
    if (!client.agent.variant.empty())
      eventually([&] { return client.slot().variants.load() == 1; }, "there is a variant");
    *word.host = 0;
  }
};

void a_request_stops_a_long_kernel() {
  Long it;
  it.learn();
  expect(it.client.agent.asked_for == "count", "it is asked for by its name");
  expect(it.client.agent.asked_with.find(".entry count(") != std::string::npos, "with the PTX it came from");
  it.launch();
  sleep_ms(8);
  it.client.request_begins();
  sleep_ms(60);
  expect(*it.word.host == 0, "it has stopped before its end");
  it.client.request_ends();
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 1, "it goes on, and is done once");
  expect(it.client.slot().preemptible.load() >= 1, "it is counted");
}

void it_ends_at_the_latest_after_two_stops() {
  Long it;
  it.learn();
  it.launch();
  for (int i = 0; i < 5; ++i) {
    sleep_ms(3);
    it.client.request_begins();
    sleep_ms(3);
    it.client.request_ends();
  }
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 1, "done once, whatever the requests");
}

void many_in_a_row() {
  Long it;
  it.learn();
  std::thread requests([&] {
    for (int i = 0; i < 20; ++i) {
      sleep_ms(4);
      it.client.request_begins();
      sleep_ms(2);
      it.client.request_ends();
    }
  });
  for (unsigned i = 1; i <= 8; ++i) it.launch(i);
  OK(cuda().cuStreamSynchronize(it.stream));
  requests.join();
  expect(*it.word.host == 36, "each of them once");
}

void parameters_in_one_buffer() {
  Long it;
  it.learn();
  struct {
    CUdeviceptr at;
    unsigned value;
    std::uint64_t ns;
  } packed{it.word.device, 5, Long::kUs * 1000};
  std::size_t size = sizeof packed;
  void* extra[] = {reinterpret_cast<void*>(kLaunchParamBufferPointer), &packed,
                   reinterpret_cast<void*>(kLaunchParamBufferSize), &size, reinterpret_cast<void*>(kLaunchParamEnd)};
  const std::uint64_t before = it.client.slot().preemptible.load();
  OK(cuda().cuLaunchKernel(it.count, 100, 100, 1, 128, 1, 1, 0, it.stream, nullptr, extra));
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 5, "they arrive");
  expect(it.client.slot().preemptible.load() == before + 1, "in a form that can stop");
}

// A grid that is on the GPU all at once gains nothing; a cooperative one needs all its blocks at once.
void what_runs_as_it_is() {
  Long it;
  it.learn();
  const std::uint64_t before = it.client.slot().preemptible.load();
  CUdeviceptr at = it.word.device;
  unsigned value = 1;
  std::uint64_t ns = Long::kUs * 1000;
  void* parameters[] = {&at, &value, &ns};
  OK(cuda().cuLaunchKernel(it.count, 132, 1, 1, 128, 1, 1, 0, it.stream, parameters, nullptr));
  OK(cuda().cuLaunchCooperativeKernel(it.count, 132, 1, 1, 128, 1, 1, 0, it.stream, parameters));
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 2, "both are done");
  expect(it.client.slot().preemptible.load() == before, "as they are");
}

void no_variant_is_no_harm() {
  Long it("");
  it.learn();
  it.run();
  it.run();
  expect(*it.word.host == 2, "the kernel runs as it is");
  expect(it.client.agent.asked.load() == 1, "and the agent is asked once");
}

void a_bad_variant_is_no_harm() {
  Long it(".version 7.8\n.target sm_70\n.visible .entry other() { ret; }");
  for (int i = 0; i < 6; ++i) it.run();
  eventually([&] { return it.client.agent.asked.load() > 0; }, "the agent is asked for a variant");
  sleep_ms(50);
  *it.word.host = 0;
  it.run();
  expect(*it.word.host == 1 && it.client.slot().variants.load() == 0, "the kernel runs as it is");
}

void an_unloaded_module_takes_its_variants_along() {
  Long it;
  it.learn();
  OK(cuda().cuModuleUnload(it.module));
  OK(cuda().cuModuleLoadData(&it.module, kCount));
  OK(cuda().cuModuleGetFunction(&it.count, it.module, "count"));
  const std::uint64_t before = it.client.slot().preemptible.load();
  for (int i = 0; i < 6; ++i) it.run();
  expect(*it.word.host == 6, "the new module's kernel runs");
  eventually([&] { return it.client.agent.asked.load() == 2; }, "and is asked for anew");
  eventually([&] { return it.client.slot().variants.load() == 2; }, "and has a variant of its own");
  it.run();
  expect(it.client.slot().preemptible.load() > before, "which is used");
}

void an_ended_context_takes_its_variants_along() {
  Long it;
  it.learn();
  OK(cuda().cuDevicePrimaryCtxReset(0));
  OK(cuda().cuDevicePrimaryCtxRetain(&it.client.program.context, 0));
  OK(cuda().cuCtxSetCurrent(it.client.program.context));
  it.stream = make_stream();
  it.word = Word{};
  OK(cuda().cuModuleLoadData(&it.module, kCount));
  OK(cuda().cuModuleGetFunction(&it.count, it.module, "count"));
  for (int i = 0; i < 6; ++i) it.run();
  eventually([&] { return it.client.slot().variants.load() == 2; }, "the kernel has a variant in the new context");
  it.run();
  expect(*it.word.host == 7, "and every launch takes place once");
}

void high_kernels_are_left_alone() {
  High client;
  client.agent.variant = kVariants;
  client.agent.region().settings.preemptUs = 1;
  CUstream stream = make_stream();
  for (int i = 0; i < 8; ++i) client.program.run_us(2'000, stream, 10'000);
  OK(cuda().cuStreamSynchronize(stream));
  expect(client.agent.asked.load() == 0, "nobody asks");
}

constexpr Case kCases[] = {
    {"a request stops a long kernel inside", a_request_stops_a_long_kernel},
    {"a kernel stops twice at most", it_ends_at_the_latest_after_two_stops},
    {"many kernels and many requests", many_in_a_row},
    {"parameters in one buffer arrive", parameters_in_one_buffer},
    {"what gains nothing runs as it is", what_runs_as_it_is},
    {"a refused variant is no harm", no_variant_is_no_harm},
    {"a variant that cannot be used is no harm", a_bad_variant_is_no_harm},
    {"an unloaded module takes its variants along", an_unloaded_module_takes_its_variants_along},
    {"an ended context takes its variants along", an_ended_context_takes_its_variants_along},
    {"high clients' kernels are left alone", high_kernels_are_left_alone},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
