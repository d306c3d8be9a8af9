// Stops the threads of the program before they submit work: while the process leaves, and while memory is moved.
#pragma once

#include <atomic>
#include <cstdint>

namespace cotenant {

struct Stop {
  static constexpr std::uint8_t kLeaving = 1;
  static constexpr std::uint8_t kMoving = 2;
  std::atomic<std::uint8_t> reasons{0};
  std::atomic<std::uint32_t> callers{0};  // launches that wait here
  // For kMoving: while queued work is let finish, when callers go on by themselves (monotonic ns), because the thread
  // that moves may be blocked; 0: memory is away, and callers wait until it is back.
  std::atomic<std::uint64_t> until_ns{0};
};

// Waits while memory is moved. Returns at once if it is not.
void wait_while_moving(Stop& stop) noexcept;

}  // namespace cotenant
