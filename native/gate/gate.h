// The gate: whether best-effort work may run now. Pure functions of the rule table and of what is seen;
// no driver, no clock, no memory of their own. The interposer compiles them in, the model calls them
// through libcotenant-gate.so.
#pragma once

#include <cstdint>

#include "generated/rules.h"

namespace cotenant {

enum class Answer : std::uint32_t {
  kRun = 0,         // go ahead
  kTrickle = 1,     // go ahead with one chunk: the pause has lasted too long, or one is due beside the request
  kHeldByHigh = 2,  // a request is active (or ended less than the resume delay ago)
  kPaused = 3,      // the agent paused best-effort work
  kNotMyTurn = 4,   // another best-effort client has the GPU
  kAheadFull = 5,   // launch-ahead, or the budget, is used up
  kPaced = 6,       // the next launch is not due yet
};

enum class KernelClass : std::uint32_t { kUnknown = 0, kCompute = 1, kMemory = 2 };

// What a best-effort client sees at one moment.
struct GateView {
  bool high_registered;
  bool high_active;
  KernelClass high_class;     // of the latest high kernel
  std::uint64_t idle_us;      // since the last request ended
  bool my_turn;               // or nobody else wants the GPU
  std::uint64_t held_us;      // how long this pause has lasted
  std::uint64_t trickled_us;  // since the last trickle in this pause
  std::uint64_t ahead_us;     // released and not known finished, over all best-effort clients
  std::uint32_t kernels_out;
  std::uint32_t high_leaves_sms = 0;  // SMs that the latest high kernel does not need; 0: none, or unknown
  std::uint64_t high_left_us = 0;     // expected until that kernel ends; 0: unknown
  std::uint64_t spent_us = 0;         // of the budget: see spent_after()
  std::uint64_t early_ns = 0;         // until the next launch is due: see due_after()
  bool mid_iteration = false;  // of the iteration that this item belongs to, something was submitted before
  bool high_copying = false;  // a copy of an active high client crosses PCIe now
};

// One launch, copy or graph about to be submitted.
struct Item {
  std::uint32_t expected_us;
  bool known;  // false: expected_us is the rule table's guess
  KernelClass kernel_class;
  std::uint32_t sms;  // SMs it needs; 0: unknown, taken as all
  bool copy = false;  // it crosses PCIe
};

// Work put behind one border so far.
struct Chunk {
  std::uint32_t expected_us;
  std::uint32_t launches;
};

// May released work run at all now? This is what the hold word says; no single launch is looked at.
[[nodiscard]] Answer release(const Rules& rules, const GateView& seen) noexcept;

// May this launch go to the driver now (launch-by-launch gating)?
[[nodiscard]] Answer admit(const Rules& rules, const GateView& seen, const Item& item) noexcept;

// What is spent of the budget once `item` is submitted. The sum starts anew only where it was over the budget
// and all had ended (Orion, Listing 1, lines 12 to 20), so one long kernel may overshoot it.
[[nodiscard]] std::uint64_t spent_after(const Rules& rules, const GateView& seen, const Item& item) noexcept;

// When the launch after one at `now_ns` is due, by when that one was; moments of one clock. What was not
// used for a while is lost, but for a millisecond.
[[nodiscard]] std::uint64_t due_after(const Rules& rules, std::uint64_t due_ns, std::uint64_t now_ns) noexcept;

// Deep submission: may more be queued behind the hold word, if so much of the stream is submitted and not known finished?
// `out_ns` is called only if the launches leave room, because this is on the launch path.
template <typename OutNs>
[[nodiscard]] inline bool has_room(const Rules& rules, std::uint64_t launches_out, OutNs out_ns) noexcept {
  return launches_out < rules.submit_launches && out_ns() < std::uint64_t{rules.submit_us} * 1000;
}

// Deep submission: must a border come before this item? An item that is long or unknown stands alone.
[[nodiscard]] bool closes(const Rules& rules, const Chunk& chunk, const Item& item) noexcept;

}  // namespace cotenant
