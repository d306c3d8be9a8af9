// How much of the work that this client has submitted the GPU has not done yet, and the view that the gate decides by.
#pragma once

#include <cstdint>

#include "gate/gate.h"
#include "interposer/agent/link.h"

namespace cotenant {

struct Context;
struct Gpu;
struct Stream;

// Reads the marks. GPU time submitted by this process and not known to be finished, over all streams that do not stand
// still.
struct Outstanding {
  std::uint64_t ns;
  std::uint64_t launches;
  std::uint64_t standing_ns;  // of the streams that stand still
  bool stands;  // whether a stream stands still
  // Part of the first two: in streams that no mark may follow now (takes_own_marks_only()). Nobody waits for it.
  std::uint64_t unmarked_ns;
  std::uint64_t unmarked_launches;
};
[[nodiscard]] Outstanding best_effort_outstanding(Gpu& gpu) noexcept;

// The application saw this stream empty.
void best_effort_note_drained(Stream& stream) noexcept;
void best_effort_note_drained(const Context& context) noexcept;

// A bit for each best-effort client of the GPU that has work to run. None if the agent, which gives turns, is gone.
[[nodiscard]] std::uint32_t who_waits(const Link& link, std::uint64_t now) noexcept;

// The view of the gate at this moment. The caller fills in held_us and progressed_us.
[[nodiscard]] GateView best_effort_view(Gpu& gpu, const Link& link, std::uint64_t now) noexcept;

}  // namespace cotenant
