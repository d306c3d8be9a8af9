// A high client; and a best-effort one with the test as the high client beside it: it sets its bit and the
// hold words, as native/interposer/high/high.cpp does.
#pragma once

#include "harness.h"

namespace harness {

// The agent first, then the class, then the first use of the driver: in that order.
struct High {
  Agent agent;
  struct Role {
    explicit Role(const Agent& agent) { agent.become("high"); }
  } role{agent};
  Program program;

  bool active() { return (agent.region().activity.active.load() & 1) != 0; }
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

  explicit BestEffort(const char* memory = "0") : role(agent, memory) {
    auto& high = agent.region().high[9];
    high.pid = static_cast<std::uint32_t>(getpid());
    high.startTime = start_time();
    high.state = 1;
    agent.region().activity.registered.fetch_or(1u << 9);
  }

  auto& slot() { return agent.region().bestEffort[0]; }
  void request_begins() {
    if (agent.region().activity.active.fetch_or(1u << 9) == 0) agent.region().activity.activations.fetch_add(1);
    for (auto& hold : agent.region().holds.hold) hold.store(1);
  }
  void request_ends() {
    agent.region().activity.active.fetch_and(~(1u << 9));
    agent.region().activity.idleSince.store(0);
    for (auto& hold : agent.region().holds.hold) hold.store(0);
  }
  // As a high client ends its request where there is a resume delay: the helper thread opens what waits.
  void request_ends_later() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    agent.region().activity.idleSince.store(static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
                                            static_cast<std::uint64_t>(t.tv_nsec));
    agent.region().activity.active.fetch_and(~(1u << 9));
  }
  // Kernels whose durations are already learned, so that chunks are filled as in steady state.
  void warm(std::uint64_t us, CUstream stream) {
    for (int i = 0; i < 40; ++i) {
      program.run_us(us, stream);
      if (i % 4 == 3) OK(cuda().cuStreamSynchronize(stream));
    }
    OK(cuda().cuStreamSynchronize(stream));
  }

  static std::uint64_t start_time() {
    std::FILE* file = std::fopen("/proc/self/stat", "r");
    char text[1024] = {};
    if (!file || !std::fgets(text, sizeof text, file)) fail(std::string("/proc/self/stat: ") + std::strerror(errno));
    std::fclose(file);
    const char* at = std::strrchr(text, ')');
    for (int field = 2; field < 22; ++field) at = std::strchr(at + 1, ' ');
    return std::strtoull(at + 1, nullptr, 10);
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
