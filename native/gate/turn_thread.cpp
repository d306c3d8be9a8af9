// The thread of the agent that gives turns (src/agent/gpus/turns.ts).
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "gate/turns.h"

using namespace cotenant;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// A turn that nobody uses is lost for this long.
constexpr long kEveryNs = 1'000'000;
// Nobody takes turns: a second client that begins is seen after this time.
constexpr long kQuietNs = 5'000'000;
// Nobody has taken turns for a second: fewer looks cost less, and the second client loses this time only once.
constexpr long kIdleNs = 20'000'000;
constexpr int kLooksUntilIdle = 200;

struct Keeper {
  protocol::Region& region;
  std::atomic<bool> ends{false};
  pthread_t thread{};
};

std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void* run(void* at) {
  auto& keeper = *static_cast<Keeper*>(at);
  int quiet_looks = 0;
  while (!keeper.ends.load(std::memory_order_acquire)) {
    const bool takes_turns = give_turns(keeper.region, monotonic_ns()) > 1;
    quiet_looks = takes_turns ? 0 : std::min(quiet_looks + 1, kLooksUntilIdle);
    const timespec pause{0, takes_turns ? kEveryNs : quiet_looks < kLooksUntilIdle ? kQuietNs : kIdleNs};
    nanosleep(&pause, nullptr);
  }
  return nullptr;
}

}  // namespace

// For tests: one poll.
EXPORT void cotenant_give_turns(void* region, double now_ns) {
  (void)give_turns(*static_cast<protocol::Region*>(region), static_cast<std::uint64_t>(now_ns));
}

// `region` stays mapped until cotenant_stop_turns(). Null: there is no thread to be had.
EXPORT void* cotenant_start_turns(void* region) {
  void* memory = std::malloc(sizeof(Keeper));
  if (!memory) return nullptr;
  auto* keeper = new (memory) Keeper{*static_cast<protocol::Region*>(region)};
  if (pthread_create(&keeper->thread, nullptr, run, keeper) == 0) return keeper;
  std::free(memory);
  return nullptr;
}

EXPORT void cotenant_stop_turns(void* at) {
  auto* keeper = static_cast<Keeper*>(at);
  keeper->ends.store(true, std::memory_order_release);
  pthread_join(keeper->thread, nullptr);
  std::free(at);
}
