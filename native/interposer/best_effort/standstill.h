// Detects streams in which the GPU waits for the program: for a word that the program writes after its launches (stream
// memory operations), for a host function that blocks, for a peer that is late. Only the program can end such a wait.
// So none of its calls may be blocked because of such a stream, and the work queued in it does not count as work that
// could run.
//
// A stream is assumed to wait if the pause flag is 0 and its marks have not moved for longer than its work explains. A
// wrong assumption costs little: the queue grows, and preemption points become rare in it, until the stream moves.
#pragma once

#include <cstdint>

#include "interposer/state/gpu.h"

namespace cotenant {

// After a standstill of this length no call waits for room in the stream, unless the driver's queue is nearly full of it. A
// long kernel may also be the reason for it.
inline constexpr std::uint64_t kStillNs = 5'000'000;

[[nodiscard]] inline bool stands_still(const Lane& lane) noexcept {
  return lane.still_ns.load(std::memory_order_relaxed) >= kStillNs;
}

[[nodiscard]] inline std::uint64_t unfinished_ns(const Lane& lane) noexcept {
  const std::uint64_t submitted = lane.submitted_ns.load(std::memory_order_relaxed);
  const std::uint64_t finished = lane.finished_ns.load(std::memory_order_relaxed);
  return submitted > finished ? submitted - finished : 0;
}

// How many entries the stream has in the driver's queue with this many launches. The queue holds 1,020, and a launch into a full
// one blocks within the driver. Launches with many preemption points between them reach this limit first.
inline constexpr std::uint64_t kMaxEntries = 800;
[[nodiscard]] inline std::uint64_t queue_entries(const Lane& lane, std::uint64_t launches_out) noexcept {
  constexpr std::uint64_t kEntriesOfABorder = 2;  // a write and a wait
  const std::uint32_t borders_out =
      lane.borders.load(std::memory_order_relaxed) - lane.passed.load(std::memory_order_relaxed);
  return launches_out + kEntriesOfABorder * borders_out;
}

// Whether the driver's queue of the stream is nearly full. It has room for about 1,000 entries, and a launch into a full
// queue blocks. If the GPU waits for the program, the program may need the rest to let the stream continue.
[[nodiscard]] bool is_crowded(const Lane& lane) noexcept;

// In a crowded stream in which the GPU waits for the program: whether the next launch goes without a preemption point. Preemption points are rare
// there. Without any, all that is queued would be one chunk when the stream continues, and no request could stop it.
[[nodiscard]] bool borders_are_rare(const Lane& lane, std::uint32_t chunk_launches) noexcept;
[[nodiscard]] inline bool spares_border(const Lane& lane, std::uint32_t chunk_launches) noexcept {
  return lane.stands.load(std::memory_order_relaxed) && borders_are_rare(lane, chunk_launches);
}

// Notes that the stream was seen empty, or in motion.
void note_motion(Lane& lane) noexcept;

// Called by the helper thread: looks at all streams of a GPU. `held`: the streams may not run now. `others`: another
// best-effort client also wants the GPU. Returns whether the set of streams that stand still has changed.
[[nodiscard]] bool look_for_standstill(Gpu& gpu, bool held, bool others, std::uint64_t now) noexcept;

}  // namespace cotenant
