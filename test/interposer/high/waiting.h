// How long a high client's bursts waited for the GPU, as the histogram of the agent has it.
#pragma once

#include "../fixture.h"
#include "gate/histogram.h"

namespace harness {

using cotenant::bucket_of;

constexpr std::uint64_t kLongUs = 200'000;
// A kernel is so long that this much at least is still to come when its launch has returned and the next call begins.
constexpr std::uint64_t kSomeNs = 20'000'000;

inline std::uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

struct Waiting : High {
  std::uint64_t paused_ns = 0;

  auto& slot() { return agent.region().high[0]; }
  // Time of the application on the CPU.
  void pause_ms(unsigned ms) {
    const std::uint64_t before = now_ns();
    sleep_ms(ms);
    paused_ns += now_ns() - before;
  }
  template <class Buckets>
  static unsigned total(const Buckets& of) {
    unsigned sum = 0;
    for (const auto& bucket : of) sum += bucket.load();
    return sum;
  }
  // The wait of the only burst.
  unsigned waited() {
    expect(bursts() == 1 && total(slot().histogram) == 1, "there was one burst, not " + std::to_string(bursts()));
    expect(total(slot().waits) == 1, "what it waited was told once");
    unsigned at = 0;
    while (slot().waits[at].load() == 0) ++at;
    expect(at <= bucket_of(lasted()), "a burst waits no longer than it lasts");
    return at;
  }
  std::uint64_t lasted() { return slot().busyNs.load(); }

  // For the next burst to be the only one.
  void forget() {
    slot().bursts = slot().busyNs = paused_ns = 0;
    for (unsigned at = 0; at < cotenant::kBuckets; ++at) slot().histogram[at] = slot().waits[at] = 0;
  }

  void waited_but_for_pauses() {
    expect(paused_ns > 0 && waited() <= bucket_of(lasted() - paused_ns), "the pauses are not waited for the GPU");
  }
  void waited_some() { expect(waited() >= bucket_of(kSomeNs), "most of the kernel was waited for"); }
  void waited_throughout() { expect(waited() == bucket_of(lasted()), "the burst counts as waited throughout"); }
};

}  // namespace harness
