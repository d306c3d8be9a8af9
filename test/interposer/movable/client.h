// A best-effort client with movable memory, and what its tests look at.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "../fixture.h"

namespace harness {

constexpr std::size_t kMiB = 1 << 20;

struct Movable {
  Agent agent;
  struct Role {
    Role(const Agent& agent, const char* memory, const char* host, bool movable) {
      if (movable) setenv("COTENANT_MOVABLE", "1", 1);
      setenv("COTENANT_PARK_HOST", host, 1);
      agent.become("best-effort", memory);
    }
  } role;
  Program program;

  explicit Movable(const char* memory = "0", const char* host = "0", bool movable = true)
      : role(agent, memory, host, movable) {}

  auto& slot() { return agent.region().bestEffort[0]; }
  auto& memory() { return slot().memory; }
  cotenant::protocol::ParkState state() {
    return static_cast<cotenant::protocol::ParkState>(memory().parkState.load());
  }

  // As the agent does: odd to park, even to return.
  void ask(bool park, std::size_t bytes = 0) {
    memory().parkBytes.store(bytes);
    const std::uint32_t now = memory().parkAsked.load();
    memory().parkAsked.store(now + ((now & 1) == (park ? 1u : 0u) ? 2 : 1));
  }
  void answered(const char* what) {
    eventually([&] { return memory().parkAnswered.load() == memory().parkAsked.load(); }, what);
  }
  void park() {
    ask(true);
    answered("the command to park is dealt with");
  }
  void parked(std::size_t bytes = 0) {
    ask(true, bytes);
    answered("the command to park is dealt with");
    expect(state() == cotenant::protocol::ParkState::kParked, std::string("it is parked: ") + memory().parkReason);
  }
  void returned() {
    ask(false);
    answered("the memory is back");
    expect(state() == cotenant::protocol::ParkState::kOpen, "it is open");
  }
};

// Runs a case of this program in a child, which sends itself SIGTERM.
inline void ends_by_sigterm(const char* child_case, const char* what) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "child", child_case, nullptr);
    _exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, what);
}

inline std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  OK(cuda().cuMemGetInfo_v2(&free, &total));
  return free;
}

inline CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr made = 0;
  OK(cuda().cuMemAlloc_v2(&made, bytes));
  return made;
}

// `beyond`: by so much what another process allocates meanwhile is more than is free while the client is parked.
inline void returns_when_it_fits(Movable& client, std::size_t beyond) {
  client.parked();
  CUdeviceptr others = 0;
  OK(cuda().cuMemAllocAsync(&others, free_bytes() + beyond, nullptr));  // as another process would
  OK(cuda().cuStreamSynchronize(nullptr));
  client.ask(false);
  eventually([&] { return client.memory().parkReason[0] != '\0'; }, "it says that its memory does not fit");
  expect(client.state() == cotenant::protocol::ParkState::kReturning, "and waits");
  OK(cuda().cuMemFreeAsync(others, nullptr));
  OK(cuda().cuStreamSynchronize(nullptr));
  client.answered("it is back as soon as it fits");
}

// Words that differ by place and seed.
inline std::vector<unsigned> pattern(std::size_t bytes, unsigned seed) {
  std::vector<unsigned> words(bytes / 4);
  unsigned state = seed;
  for (auto& word : words) word = state = state * 1664525 + 1013904223;
  return words;
}

inline void write(CUdeviceptr to, const std::vector<unsigned>& words) {
  OK(cuda().cuMemcpyHtoD_v2(to, words.data(), words.size() * 4));
}

inline bool holds(CUdeviceptr at, const std::vector<unsigned>& words) {
  std::vector<unsigned> seen(words.size());
  OK(cuda().cuMemcpyDtoH_v2(seen.data(), at, seen.size() * 4));
  return seen == words;
}

}  // namespace harness
