// The state machine of a best-effort client's helper thread: when it clears and sets the client's hold word, whose turn
// it is, when a trickle passes and when the GPU's time slice is renewed. It is pure like the gate: no driver, no clock,
// no state of its own. The interposer applies its decisions to shared memory (best_effort/tick.cpp), the model to its
// board (lab/gpu/clients/helper.ts, through libcotenant-gate.so).
//
// Times are ns on one clock with any origin. Durations are in the unit that ends their names.
#pragma once

#include <cstdint>

#include "gate/gate.h"

namespace cotenant {

// The view of the helper thread at one look.
struct HoldView {
  std::uint64_t now_ns;
  std::uint32_t slot;  // of this client
  bool held;  // its hold word is not 0
  // Submitted by this client and not known finished, in streams that move.
  std::uint64_t launches_out;
  std::uint64_t out_ns;
  bool stands;  // work is in streams that stand still, because the GPU waits for the program there
  std::uint32_t callers_waiting;  // threads of the program that are blocked because its work is held
  std::uint64_t far;  // changes when the GPU passes a border of the client, or a gate in a graph
  bool stops_inside;  // a launch is out that stops inside if the word is set, where no mark tells it
  std::uint64_t trickled_ns;  // since this client's last trickle began; if there was none, a very long time
  // Best-effort clients of the GPU.
  std::uint32_t waiting;  // a bit per slot: it has work to run
  std::uint32_t turn;  // the slot whose turn it is
  std::uint64_t turn_ns;  // how long it has been
  GateView seen;  // for release(), except held_us and trickled_us, which are computed here
};

// The state of the helper thread between looks, zero at first.
struct HoldState {
  std::uint64_t looked_ns{0};  // the last look
  std::uint64_t held_since_ns{0};  // valid if `pausing`
  std::uint64_t absent_looked_ns{0};  // when absent clients were last looked for
  std::uint64_t pause_far{0};  // `far` at the last look of a pause, or after the last trickle
  std::uint64_t trickle_from{0};  // `far` when the trickle began
  std::uint64_t trickle_begun_ns{0};  // when the first chunk of the trickle had passed; 0: it has not
  std::uint64_t slice_since_ns{0};  // about when this client's time slice on the GPU began, or its renewal
  std::uint64_t renew_from{0};  // `far` when the word was set to renew the slice
  std::uint64_t stands_until_ns{0};
  std::uint32_t trickle_lasts_us{0};  // for how long chunks pass after that
  std::uint32_t slipped{0};  // looks of this pause at which the GPU had come farther
  enum class Renewal : std::uint8_t { kNone, kUntilBorder, kStanding } renewal{Renewal::kNone};
  bool watched{false};  // the last look of a renewal asked for kBorder
  bool pausing{false};  // work of the client waits
  bool trickling{false};  // the word is open for one chunk, or for some beside a request
};

enum class TurnAction : std::uint32_t {
  kKeep = 0,
  kGive = 1,  // set the own word, give the turn to `to`, and clear that client's word unless a request is active
  kTake = 2,  // from `view.turn`, unless another client takes it first
};

struct TurnDecision {
  TurnAction action;
  std::uint32_t to;  // kGive
};

enum class HoldAction : std::uint32_t {
  kLeave = 0,
  kOpen = 1,  // clear the word, unless a request holds best-effort work
  kClose = 2,  // set the word, then check again, because another process may have checked just before
  kChunk = 3,  // clear the word even if best-effort work is held: one chunk passes
  kStand = 4,  // set the word for a moment although nothing holds, to renew the time slice
};

// How to wait for the next look.
enum class NextLook : std::uint32_t {
  kNap = 0,  // asleep
  kBorder = 1,  // on the CPU; sooner if `far` changes
  kMoment = 2,  // on the CPU, because the GPU stands idle meanwhile
};

struct HoldDecision {
  HoldAction action{HoldAction::kLeave};
  NextLook next{NextLook::kNap};
  std::uint64_t again_ns{0};  // the next look is after so long
  bool waiting{false};  // the client's bit in `waiting`
  bool trickles{false};  // a trickle, or a chunk beside a request, begins: note the time
  bool counts{false};  // it is a trickle: count it
  bool look_for_absent{false};  // the pause is so long that its cause may have died
  // To be added to the client's statistics: the part of the time since the last look in which the client
  std::uint64_t empty_ns{0};  // had no work,
  std::uint64_t turn_ns{0};  // waited for its turn,
  std::uint64_t held_ns{0};  // was held by a request or paused by the agent.
  std::uint64_t released_ns{0};  // its launch-ahead now
};

// Whether best-effort work may have to wait for something: a protected high client, or a pause.
[[nodiscard]] bool is_gated(const Rules& rules, bool high_registered) noexcept;

// Whether this client has work that may have to wait. Reads only launches_out, callers_waiting and
// seen.high_registered.
[[nodiscard]] bool has_backlog(const Rules& rules, const HoldView& view) noexcept;

// Whether it is this client's turn, or nobody else wants the GPU.
[[nodiscard]] bool has_turn(std::uint32_t slot, std::uint32_t waiting, std::uint32_t turn) noexcept;

// The first step of a look: decides about the turn. Does not read `view.held` and the rest of `view.seen`.
[[nodiscard]] TurnDecision decide_turn(const Rules& rules, const HoldView& view) noexcept;

// The second step: decides about the hold word. `view.held` and `view.seen.my_turn` are as the first step left them.
[[nodiscard]] HoldDecision decide_hold(const Rules& rules, const HoldView& view, HoldState& state) noexcept;

}  // namespace cotenant
