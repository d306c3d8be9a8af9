// How much of what this client has submitted the GPU has not done yet, and what the gate is told.
#pragma once

#include <cstdint>

#include "gate/gate.h"
#include "interposer/agent/link.h"

namespace cotenant {

struct Context;
struct Gpu;
struct Stream;

// Reads the marks; GPU time submitted by this process and not known finished, over all streams but those that stand.
struct Outstanding {
  std::uint64_t ns;
  std::uint64_t launches;
  std::uint64_t standing_ns;  // of those that stand,
  bool stands;                // and whether there are any
};
[[nodiscard]] Outstanding best_effort_outstanding(Gpu& gpu) noexcept;

// The application saw this stream empty.
void best_effort_note_drained(Stream& stream) noexcept;
void best_effort_note_drained(const Context& context) noexcept;

// What the gate needs to know, as it is now. held_us and trickled_us are the caller's to fill.
[[nodiscard]] GateView best_effort_view(Gpu& gpu, const Link& link, std::uint64_t now) noexcept;

}  // namespace cotenant
