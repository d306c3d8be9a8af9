// A high client; and a best-effort one with the test as the high client beside it: it sets its bit and the
// pause flags, as native/interposer/high/high.cpp does.
#pragma once

#include "harness.h"
#include "include/cotenant.h"

namespace harness {

// Whether the program says that it serves. If not, it starts up at first.
enum class Says { kNothing, kReady };

// The agent first, then the class, then the first use of the driver: in that order.
struct High {
  Agent agent;
  struct Role {
    Role(const Agent& agent, Says says) {
      agent.become("high");
      if (says == Says::kReady) cotenant_ready();
    }
  } role;
  Program program;

  explicit High(Says says = Says::kReady) : role(agent, says) {}

  bool active() { return (agent.page().active.load() & 1) != 0; }
  std::uint64_t bursts() { return agent.region().high[0].bursts.load(); }
  void busy(const char* when) { expect(active(), std::string("busy ") + when); }
  void idle(const char* when) { expect(!active(), std::string("idle ") + when); }
};

struct BestEffort {
  Agent agent;
  struct Role {
    Role(const Agent& agent, const char* memory) { agent.become("best-effort", memory); }
  } role;
  Program program;

  explicit BestEffort(const char* memory = "0") : role(agent, memory) { agent.region().roster.registered = 1; }

  auto& slot() { return agent.region().bestEffort[0]; }
  // The bit of a high client in slot 9.
  static constexpr std::uint64_t kRequest = 1u << 9;
  void request_begins() {
    auto& page = agent.page();
    page.high[9].burstSince.store(now());
    if (page.active.fetch_or(kRequest) == 0) page.activations.fetch_add(1);
    page.word.store(1);
  }
  void request_ends() {
    agent.page().active.fetch_and(~kRequest);
    agent.page().idleSince.store(0);
    agent.page().word.store(0);
  }
  // As a high client ends its request where there is a resume delay: the helper thread opens what waits.
  void request_ends_later() {
    agent.page().idleSince.store(now());
    agent.page().active.fetch_and(~kRequest);
  }
  // Kernels whose durations are already learned, so that chunks are filled as in steady state.
  void warm(std::uint64_t us, CUstream stream) {
    for (int i = 0; i < 40; ++i) {
      program.run_us(us, stream);
      if (i % 4 == 3) OK(cuda().cuStreamSynchronize(stream));
    }
    OK(cuda().cuStreamSynchronize(stream));
  }

  // The time of bursts, in ns.
  static std::uint64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
  }
};

// A pinned word that stored kernels write: how far the GPU has come, without asking the driver.
struct Word {
  std::atomic<unsigned>* host = nullptr;
  CUdeviceptr device = 0;
  Word() {
    void* memory = nullptr;
    OK(cuda().cuMemHostAlloc(&memory, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuda().cuMemHostGetDevicePointer_v2(&device, memory, 0));
    host = static_cast<std::atomic<unsigned>*>(memory);
    *host = 0;
  }
};

}  // namespace harness
