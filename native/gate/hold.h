// The state machine of a best-effort client's helper thread: when it clears and sets the client's pause flag, whose turn
// it is, when minimum progress passes and when the GPU's time slice is renewed. It is pure like the gate: no driver, no clock,
// no state of its own. The interposer applies its decisions to shared memory (best_effort/tick.cpp), the model to its
// board (lab/gpu/clients/helper.ts, through libcotenant-gate.so).
//
// Times are ns on one clock with any origin. Durations are in the unit that ends their names.
#pragma once

#include <cstdint>

#include "gate/gate.h"

namespace cotenant {

// The state of the helper thread between looks, zero at first.
struct HoldState {
  std::uint64_t last_poll_ns{0};  // the last poll
  std::uint64_t held_since_ns{0};  // valid if `pausing`
  std::uint64_t absent_polled_ns{0};  // when absent clients were last looked for
  std::uint64_t pause_far{0};  // `far` at the last poll of a pause, or after the last minimum progress
  std::uint64_t progress_from{0};  // `far` when minimum progress began
  std::uint64_t progress_begun_ns{0};  // when the first chunk of minimum progress had passed; 0: it has not
  std::uint64_t slice_since_ns{0};  // about when this client's time slice on the GPU began, or its renewal
  std::uint64_t renew_from{0};  // `far` when the word was set to renew the slice
  std::uint64_t stands_until_ns{0};
  std::uint32_t progress_lasts_us{0};  // for how long chunks pass after that
  std::uint32_t slipped{0};  // looks of this pause at which the GPU had come farther
  enum class Renewal : std::uint8_t { kNone, kUntilBorder, kStanding } renewal{Renewal::kNone};
  bool watched{false};  // the last poll of a renewal asked for kBorder
  bool pausing{false};  // work of the client waits
  bool progressing{false};  // the word is open for one chunk, or for some beside a request
};

// Whether best-effort work may have to wait for something: a protected high client, or a pause.
[[nodiscard]] bool is_gated(const Rules& rules, bool high_registered) noexcept;

// Whether this client has work that may have to wait. Reads only launches_out, callers_waiting and
// seen.high_registered.
[[nodiscard]] bool has_backlog(const Rules& rules, const HoldView& view) noexcept;

// Whether it is this client's turn, or nobody else wants the GPU.
[[nodiscard]] bool has_turn(std::uint32_t slot, std::uint32_t waiting, std::uint32_t turn) noexcept;

// The first step of a poll: decides about the turn. Does not read `view.held` and the rest of `view.seen`.
[[nodiscard]] TurnDecision decide_turn(const Rules& rules, const HoldView& view) noexcept;

// The second step: decides about the pause flag. `view.held` and `view.seen.my_turn` are as the first step left them.
[[nodiscard]] HoldDecision decide_hold(const Rules& rules, const HoldView& view, HoldState& state) noexcept;

}  // namespace cotenant
