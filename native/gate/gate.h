// The gate decides whether best-effort work may run now. It consists of pure functions of the parameter table and a view: no
// driver, no clock, no state. The interposer compiles it in; the model calls it through libcotenant-gate.so.
#pragma once

#include <cstdint>

#include "generated/gate.h"
#include "generated/rules.h"

namespace cotenant {

// Whether released work may run now. This decides the pause flag; single launches are not considered.
[[nodiscard]] Answer release(const Rules& rules, const GateView& seen) noexcept;

// Whether this launch may go to the driver now (launch-by-launch gating).
[[nodiscard]] Answer admit(const Rules& rules, const GateView& seen, const Item& item) noexcept;

// The spent part of the budget after `item` is submitted. The sum restarts only if it was over the budget and all
// kernels had ended (Orion, Listing 1, lines 12 to 20), so one long kernel may exceed the budget.
[[nodiscard]] std::uint64_t spent_after(const Rules& rules, const GateView& seen, const Item& item) noexcept;

// When the launch after the one at `now_ns` is due, given when that one was due; times of one clock. At most a
// millisecond of unused time can be made up for.
[[nodiscard]] std::uint64_t due_after(const Rules& rules, std::uint64_t due_ns, std::uint64_t now_ns) noexcept;

// Deep submission: whether more work may be queued behind the pause flag, given how much of the stream is submitted and
// not known to be finished. `out_ns` is called only if the launches leave room, because this is on the launch path.
template <typename OutNs>
[[nodiscard]] inline bool has_room(const Rules& rules, std::uint64_t launches_out, OutNs out_ns) noexcept {
  return launches_out < rules.submit_launches && out_ns() < std::uint64_t{rules.submit_us} * 1000;
}

// Deep submission: whether a preemption point must come before this item. A long or unknown item gets a chunk of its own.
[[nodiscard]] bool closes(const Rules& rules, const Chunk& chunk, const Item& item) noexcept;

// Deep submission where the rules let work run concurrently with a request: whether a copy over PCIe may be submitted. It is
// submitted shortly before it can run, and not while a copy of a high client is in flight. Work queued before it gets
// at most `submit_us` to finish. `waited_us`: how long the copy has waited; `ahead_us`: as in GateView.
[[nodiscard]] Answer admit_copy(const Rules& rules, std::uint64_t waited_us, std::uint64_t ahead_us,
                                bool high_copying) noexcept;

// Whether a request sets the pause flags as soon as it begins. Otherwise the rules let some best-effort work run beside
// it, or beside its start: then the helper threads of best-effort clients set their own words.
[[nodiscard]] inline bool holds_apply(const protocol::Settings& settings) noexcept {
  return rule::protect(settings) && rule::when_active(settings) == protocol::WhenActive::kWait &&
         rule::grace_us(settings) == 0;
}

}  // namespace cotenant
