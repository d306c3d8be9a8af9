// Parking: the agent asks, and a thread of its own copies the client's movable memory into pinned host memory, takes the
// physical memory away, and later does the reverse under the same addresses. The program's threads wait meanwhile
// (closing.h). If the agent is gone, the client returns its memory as soon as it fits.
#pragma once

#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

// Starts the thread of this process unless it runs.
void start_parking() noexcept;

// For the helper thread: the agent has hung up.
void parking_lost_agent() noexcept;

// Exists while a context is ended, so that no memory of it moves meanwhile. What is parked then ends with it.
class EndsMemory {
 public:
  EndsMemory() noexcept;
  ~EndsMemory();
  EndsMemory(const EndsMemory&) = delete;
  EndsMemory& operator=(const EndsMemory&) = delete;

 private:
  bool held_;
};
void parking_context_ended(cu::CUcontext context) noexcept;
// Memory that was allocated in the green context `green`, which has ended, ends with `context`.
void parking_context_joins(cu::CUcontext green, cu::CUcontext context) noexcept;

// Bytes that the program has and the GPU has not.
[[nodiscard]] std::uint64_t parked_bytes() noexcept;

void forget_parking() noexcept;  // in a forked child

}  // namespace cotenant
