// Streams in which the GPU waits for the program: for a word that the program writes after its launches (stream memory
// operations), a host function that blocks, a peer that comes late. Only the program can end that, so no call of its own
// may wait for such a stream, and what is in it is not work that could run.
//
// It is seen by what it does: the hold is open, and the stream's marks stand still for longer than its work can explain.
// To be wrong about one costs little: a longer queue behind the same borders, until it moves.
#pragma once

#include <cstdint>

#include "interposer/state/gpu.h"

namespace cotenant {

// So long a standstill that no call waits for room in this stream any more. A long kernel may be the reason, too.
inline constexpr std::uint64_t kStillNs = 5'000'000;

[[nodiscard]] inline bool stood_still(const Lane& lane) noexcept {
  return lane.still_ns.load(std::memory_order_relaxed) >= kStillNs;
}

[[nodiscard]] inline std::uint64_t unfinished_ns(const Lane& lane) noexcept {
  const std::uint64_t submitted = lane.submitted_ns.load(std::memory_order_relaxed);
  const std::uint64_t finished = lane.finished_ns.load(std::memory_order_relaxed);
  return submitted > finished ? submitted - finished : 0;
}

// Nothing more of ours may be put into the queue of a stream that stands: a driver's queue has room for some 1,000 entries,
// and a launch that finds it full blocks. The program may need all of it before it lets the stream go on.
[[nodiscard]] bool crowded(const Lane& lane) noexcept;

// The stream has been seen empty, or in motion.
void moves_again(Lane& lane) noexcept;

// The helper thread's look at all streams of a GPU. `held`: the GPU is kept from the streams now. `others`: another best-effort
// client wants it, too. True: which streams stand has changed.
[[nodiscard]] bool look_for_standstill(Gpu& gpu, bool held, bool others, std::uint64_t now) noexcept;

}  // namespace cotenant
