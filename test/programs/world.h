// The objects of a generated program (program.ts): tables by the number that the program gives them, and a page of
// results that outlives the process that runs it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "driver/abi.h"

namespace programs {

using namespace cotenant::cu;

constexpr std::size_t kLines = 1024;
constexpr std::size_t kThreads = 4;
constexpr std::size_t kLanes = 64;      // host functions of one lane are in order
constexpr std::size_t kPerLane = 64;
constexpr std::size_t kObjects = 256;   // of each kind
constexpr std::uint32_t kUntouched = 0xffff'ffff;

// Shared between the process that runs a program and the one that started it.
struct Results {
  struct Line {
    std::atomic<std::uint32_t> code;
    std::atomic<std::uint32_t> us;
  };
  struct Thread {
    std::atomic<std::uint32_t> line;   // being executed
    std::atomic<std::uint64_t> since;  // monotonic ns; 0: between lines
  };
  Line lines[kLines];
  Thread threads[kThreads];
  std::atomic<std::uint32_t> called[kLanes];
  std::atomic<std::uint64_t> calls[kLanes][kPerLane];  // number of the host function, and a digest of what it saw
  std::atomic<std::uint64_t> digests[kObjects];        // of what the program shows
  std::atomic<std::uint32_t> ended;
};

struct Line {
  unsigned thread;
  unsigned number;
  std::string operation;
  std::vector<std::uint64_t> of;
};

// Executes one line; the driver's answer, or success where the driver is not asked.
CUresult execute(const Line& line);
[[nodiscard]] bool known(const std::string& operation);

void use_results(Results& results);

}  // namespace programs
