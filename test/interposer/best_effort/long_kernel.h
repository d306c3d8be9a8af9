// A long kernel whose PTX is known, and variants of it that can stop inside.
#pragma once

#include <chrono>

#include "../fixture.h"

namespace harness {

// The variants of the kernel below, as the software GPU takes them; the agent's have bodies.
constexpr const char* kSlice = R"(
//! soft ns=p2 effect=add(p0, p1)
.visible .entry count__cotenant_slice(.param .u64 at, .param .u32 value, .param .u64 ns, .param .u32 first_x,
  .param .u32 first_y, .param .u32 first_z, .param .u32 x, .param .u32 y, .param .u32 z) { ret; }
)";
constexpr const char* kPreempt = R"(
//! soft ns=p2 effect=add(p0, p1)
.visible .entry count__cotenant_preempt(.param .u64 at, .param .u32 value, .param .u64 ns, .param .u64 control,
  .param .u64 flag, .param .u32 x, .param .u32 y, .param .u32 z, .param .u32 epoch) { ret; }
)";

const std::string kVariants = kPtxHead + kPreempt;

const std::string kCount = kPtxHead + R"(
//! soft ns=p2 effect=add(p0, p1)
.visible .entry count(.param .u64 at, .param .u32 value, .param .u64 ns)
{
  .reg .pred %p;
  .reg .b32 %block, %blocks, %y, %thread, %value;
  .reg .b64 %now, %until, %at;
  // On a real GPU 2,112 such blocks run at once: the time is for all of 10,000.
  ld.param.u64 %until, [ns];
  mov.u32 %blocks, %nctaid.x;
  mov.u32 %y, %nctaid.y;
  mul.lo.u32 %blocks, %blocks, %y;
  setp.lt.u32 %p, %blocks, 10000;
  @%p bra WHOLE;
  div.u64 %until, %until, 5;
WHOLE:
)" + kPtxWait + R"(
  // The last block adds: it is there only when all have begun.
  mov.u32 %block, %ctaid.x;
  mov.u32 %y, %nctaid.x;
  mov.u32 %thread, %ctaid.y;
  mad.lo.u32 %block, %thread, %y, %block;
  add.u32 %block, %block, 1;
  setp.ne.u32 %p, %block, %blocks;
  @%p ret;
  mov.u32 %thread, %tid.x;
  setp.ne.u32 %p, %thread, 0;
  @%p ret;
  ld.param.u64 %at, [at];
  ld.param.u32 %value, [value];
  red.relaxed.sys.add.u32 [%at], %value;
  ret;
}
)";

// One kernel of 20 ms on 10,000 blocks that adds to a word when it is done.
struct Long {
  static constexpr std::uint64_t kUs = 20'000;
  BestEffort client;
  CUstream stream = make_stream();
  Word word;
  CUmodule module = nullptr;
  CUfunction count = nullptr;

  explicit Long(const std::string& variants = kVariants) {
    client.agent.variant = variants;
    OK(cuda().cuModuleLoadData(&module, kCount.c_str()));
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
  // Until it is known which variant suits it.
  void try_all() {
    for (int i = 0; i < 16; ++i) run();
  }
  // Until it is known to be long, and its variant is there, or has been refused.
  void learn() {
    for (int i = 0; i < 6; ++i) run();
    eventually([&] { return client.agent.asked.load() > 0; }, "the agent is asked for a variant");
    if (!client.agent.variant.empty())
      eventually([&] { return client.slot().variants.load() == 1; }, "there is a variant");
    try_all();
    *word.host = 0;
  }
};

// A request begins when the kernel has run for 8 ms. On a busy machine it may come after the kernel's end; then this tries again.
inline void request_comes_inside(Long& it) {
  using std::chrono::steady_clock;
  for (int tries = 0; tries < 100; ++tries) {
    const auto launched = steady_clock::now();
    it.launch();
    sleep_ms(8);
    it.client.request_begins();
    if (steady_clock::now() - launched < std::chrono::milliseconds(14)) return;
    it.client.request_ends();
    OK(cuda().cuStreamSynchronize(it.stream));
    *it.word.host = 0;
  }
  expect(false, "a request comes in time");
}

inline void a_request_stops(Long& it) {
  request_comes_inside(it);
  sleep_ms(60);
  expect(*it.word.host == 0, "it has stopped before its end");
  it.client.request_ends();
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 1, "it goes on, and is done once");
  expect(it.client.slot().preemptible.load() >= 1, "it is counted");
}

}  // namespace harness
