// Parking: the agent asks, and a thread of its own copies the client's movable memory into pinned host memory, takes the
// physical memory away, and later does the reverse under the same addresses. The program's threads wait meanwhile
// (closing.h). If the agent is gone, the client returns its memory as soon as it fits. Where there is no movable memory, or it cannot be parked,
// the driver's checkpoint of the process does it (checkpoint.h), and by this the process moves to another GPU.
#pragma once

#include <cstdint>

namespace cotenant {

// Starts the thread of this process unless it runs.
void start_parking() noexcept;

// For the helper thread: the agent has hung up.
void parking_lost_agent() noexcept;

// Bytes that the program has and the GPU has not.
[[nodiscard]] std::uint64_t parked_bytes() noexcept;
// Parked, or on the way there or back.
[[nodiscard]] bool is_parked() noexcept;

void forget_parking() noexcept;  // in a forked child

}  // namespace cotenant
