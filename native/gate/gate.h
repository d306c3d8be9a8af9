// The gate decides whether best-effort work may run now. It consists of pure functions of the rule table and a view: no
// driver, no clock, no state. The interposer compiles it in; the model calls it through libcotenant-gate.so.
#pragma once

#include <cstdint>

#include "generated/rules.h"

namespace cotenant {

enum class Answer : std::uint32_t {
  kRun = 0,  // go ahead
  kTrickle = 1,  // go ahead with one chunk: the pause has lasted too long, or one is due beside the request
  kHeldByHigh = 2,  // a request is active (or ended less than the resume delay ago)
  kPaused = 3,  // the agent paused best-effort work
  kNotMyTurn = 4,  // another best-effort client has the GPU
  kAheadFull = 5,  // launch-ahead, or the budget, is used up
  kPaced = 6,  // the next launch is not due yet
};

enum class KernelClass : std::uint32_t { kUnknown = 0, kCompute = 1, kMemory = 2 };

// The view of a best-effort client at one moment.
struct GateView {
  bool high_registered;
  bool high_active;
  KernelClass high_class;  // class of the latest high kernel
  std::uint64_t idle_us;  // since the end of the last request
  bool my_turn;  // true also if nobody else wants the GPU
  std::uint64_t held_us;  // how long this pause has lasted
  std::uint64_t trickled_us;  // since the last trickle in this pause
  std::uint64_t ahead_us;  // time of released work not known to be finished, over all best-effort clients
  std::uint32_t kernels_out;
  std::uint32_t high_leaves_sms = 0;  // SMs that the latest high kernel does not need; 0: none, or unknown
  std::uint64_t high_left_us = 0;  // expected time until that kernel ends; 0: unknown
  std::uint64_t spent_us = 0;  // the spent part of the budget: see spent_after()
  std::uint64_t early_ns = 0;  // until the next launch is due: see due_after()
  bool mid_iteration = false;  // earlier work of this item's iteration was submitted
  bool high_copying = false;  // a copy of an active high client crosses PCIe now
  std::uint64_t active_us = 0;  // if high_active: since the oldest active request began
};

// One launch, copy or graph about to be submitted.
struct Item {
  std::uint32_t expected_us;
  bool known;  // false: expected_us is the rule table's guess
  KernelClass kernel_class;
  std::uint32_t sms;  // SMs it needs; 0: unknown, taken as all
  bool copy = false;  // it crosses PCIe
};

// The work since the last border.
struct Chunk {
  std::uint32_t expected_us;
  std::uint32_t launches;
};

// Whether released work may run now. This decides the hold word; single launches are not considered.
[[nodiscard]] Answer release(const Rules& rules, const GateView& seen) noexcept;

// Whether this launch may go to the driver now (launch-by-launch gating).
[[nodiscard]] Answer admit(const Rules& rules, const GateView& seen, const Item& item) noexcept;

// The spent part of the budget after `item` is submitted. The sum restarts only if it was over the budget and all
// kernels had ended (Orion, Listing 1, lines 12 to 20), so one long kernel may exceed the budget.
[[nodiscard]] std::uint64_t spent_after(const Rules& rules, const GateView& seen, const Item& item) noexcept;

// When the launch after the one at `now_ns` is due, given when that one was due; times of one clock. At most a
// millisecond of unused time can be made up for.
[[nodiscard]] std::uint64_t due_after(const Rules& rules, std::uint64_t due_ns, std::uint64_t now_ns) noexcept;

// Deep submission: whether more work may be queued behind the hold word, given how much of the stream is submitted and
// not known to be finished. `out_ns` is called only if the launches leave room, because this is on the launch path.
template <typename OutNs>
[[nodiscard]] inline bool has_room(const Rules& rules, std::uint64_t launches_out, OutNs out_ns) noexcept {
  return launches_out < rules.submit_launches && out_ns() < std::uint64_t{rules.submit_us} * 1000;
}

// Deep submission: whether a border must come before this item. A long or unknown item gets a chunk of its own.
[[nodiscard]] bool closes(const Rules& rules, const Chunk& chunk, const Item& item) noexcept;

// Deep submission where the rules let work run beside a request: whether a copy over PCIe may be submitted. It is
// submitted shortly before it can run, and not while a copy of a high client is in flight. Work queued before it gets
// at most `submit_us` to finish. `waited_us`: how long the copy has waited; `ahead_us`: as in GateView.
[[nodiscard]] Answer admit_copy(const Rules& rules, std::uint64_t waited_us, std::uint64_t ahead_us,
                                bool high_copying) noexcept;

// Whether a request sets the hold words as soon as it begins. Otherwise the rules let some best-effort work run beside
// it, or beside its begin: then the helper threads of best-effort clients set their own words.
[[nodiscard]] inline bool holds_apply(const protocol::Settings& settings) noexcept {
  return rule::protect(settings) && rule::when_active(settings) == protocol::WhenActive::kWait &&
         rule::hold_after_us(settings) == 0;
}

}  // namespace cotenant
