#include "gate/gate.h"

namespace cotenant {
namespace {

bool opposite(KernelClass a, KernelClass b) noexcept {
  // "Unknown" waives the class test only (Orion, section 5: it is never the reason to refuse).
  return a == KernelClass::kUnknown || b == KernelClass::kUnknown || a != b;
}

bool is_short(const Rules& rules, const Item& item) noexcept {
  return item.sms != 0 && item.sms < rules.sm_limit && item.expected_us <= rules.max_kernel_us;
}

// Whether this item is allowed beside an active request.
bool allowed_beside(const Rules& rules, const GateView& seen, const Item& item) noexcept {
  switch (rules.when_active) {
    case protocol::WhenActive::kWait: return false;
    case protocol::WhenActive::kAllow: return true;
    case protocol::WhenActive::kAllowOpposite:
      return is_short(rules, item) && opposite(item.kernel_class, seen.high_class);
    case protocol::WhenActive::kAllowShort: return is_short(rules, item);
    case protocol::WhenActive::kAllowFitting:
      return item.known && item.sms != 0 && item.sms <= seen.high_leaves_sms && item.expected_us <= seen.high_left_us;
    case protocol::WhenActive::kFinishIteration: return seen.mid_iteration;
  }
  return false;
}

Answer or_progress(const Rules& rules, const GateView& seen, Answer reason) noexcept {
  const bool due = seen.held_us >= rules.progress_after_us && seen.progressed_us >= rules.progress_every_us;
  return due ? Answer::kProgress : reason;
}

// How often a share of the time comes. Beside an old burst it is rare, and yet no wait is endless.
std::uint64_t share_every_us(const Rules& rules, const GateView& seen) noexcept {
  constexpr std::uint64_t kRarelyUs = 1'000'000;
  const bool old = rules.co_run_until_us > 0 && seen.active_us >= rules.co_run_until_us;
  return old ? kRarelyUs : rules.co_run_every_us;
}

// A request is active, or has just ended. The rules may allow a chunk concurrent with it.
Answer held_by_high(const Rules& rules, const GateView& seen) noexcept {
  const bool allowed = !rules.isolated || seen.my_turn;
  const bool beside = rules.co_run_every_us > 0 && seen.high_active && allowed;
  // A share of the time is counted from the last time alone: between two bursts of a step the word may have been 0. It is all
  // that best-effort work gets beside a request: minimum progress of such turns would add to it.
  if (beside && rules.co_run_slice_us > 0)
    return seen.progressed_us >= share_every_us(rules, seen) ? Answer::kProgress : Answer::kHeldByHigh;
  if (beside && seen.held_us >= rules.co_run_every_us && seen.progressed_us >= rules.co_run_every_us)
    return Answer::kProgress;
  return or_progress(rules, seen, Answer::kHeldByHigh);
}

// The limits that only some policies set.
Answer within_limits(const Rules& rules, const GateView& seen) noexcept {
  if ((rules.kernels_out | rules.launch_every_ns | rules.budget_us) == 0) return Answer::kRun;
  if (rules.kernels_out > 0 && seen.kernels_out >= rules.kernels_out) return Answer::kAheadFull;
  if (rules.launch_every_ns > 0 && seen.early_ns > 0) return Answer::kPaced;
  const bool spent = rules.budget_us > 0 && seen.spent_us > rules.budget_us && seen.kernels_out > 0;
  return spent ? Answer::kAheadFull : Answer::kRun;
}

// Whether no active request is so old that it holds best-effort work.
bool is_young(const Rules& rules, const GateView& seen) noexcept { return seen.active_us < rules.grace_us; }

// The last request has just ended, whether or not a young one has begun since: the next may be waited for at once.
bool resting(const Rules& rules, const GateView& seen) noexcept {
  return rules.resume_delay_us > 0 && seen.idle_us < rules.resume_delay_us;
}

}  // namespace

Answer release(const Rules& rules, const GateView& seen) noexcept {
  if (rules.paused) return or_progress(rules, seen, Answer::kPaused);
  if (!rules.protect || !seen.high_registered) return Answer::kRun;
  // Rules that allow some work concurrent with a request are applied to single launches, in admit().
  const bool waits = rules.when_active == protocol::WhenActive::kWait;
  const bool held = seen.high_active && !is_young(rules, seen) ? waits : resting(rules, seen);
  if (held) return held_by_high(rules, seen);
  if (rules.isolated && !seen.my_turn) return or_progress(rules, seen, Answer::kNotMyTurn);
  return Answer::kRun;
}

Answer admit(const Rules& rules, const GateView& seen, const Item& item) noexcept {
  const bool gated = rules.protect && seen.high_registered;
  const bool finishes = gated && rules.when_active == protocol::WhenActive::kFinishIteration;
  // A client that shares time by iterations does not stop in the middle of one, whoever's turn it is.
  if (finishes && seen.mid_iteration && !rules.paused) return Answer::kRun;
  const Answer general = release(rules, seen);
  if (general != Answer::kRun || !gated) return general;
  // PCIe is a resource of its own: a copy waits for a copy, whatever else may run concurrently with a request.
  if (seen.high_active && item.copy && seen.high_copying) return or_progress(rules, seen, Answer::kHeldByHigh);
  const bool holds = seen.high_active && !is_young(rules, seen);
  if (holds && !allowed_beside(rules, seen, item)) return held_by_high(rules, seen);
  if (finishes) return seen.ahead_us == 0 ? Answer::kRun : Answer::kAheadFull;
  const Answer limited = within_limits(rules, seen);
  if (limited != Answer::kRun || rules.budget_us > 0) return limited;
  // A launch is always admitted when nothing is outstanding, however long it is, so that every kernel can run.
  if (seen.ahead_us == 0) return Answer::kRun;
  if (!item.known) return Answer::kAheadFull;
  const std::uint64_t limit = holds ? rules.active_ahead_us : rules.chunk_us;
  return seen.ahead_us + item.expected_us <= limit ? Answer::kRun : Answer::kAheadFull;
}

std::uint64_t spent_after(const Rules& rules, const GateView& seen, const Item& item) noexcept {
  const bool anew = seen.spent_us > rules.budget_us && seen.kernels_out == 0;
  return (anew ? 0 : seen.spent_us) + item.expected_us;
}

std::uint64_t due_after(const Rules& rules, std::uint64_t due_ns, std::uint64_t now_ns) noexcept {
  constexpr std::uint64_t kCreditNs = 1'000'000;
  const std::uint64_t earliest = now_ns > kCreditNs ? now_ns - kCreditNs : 0;
  return (due_ns > earliest ? due_ns : earliest) + rules.launch_every_ns;
}

Answer admit_copy(const Rules& rules, std::uint64_t waited_us, std::uint64_t ahead_us, bool high_copying) noexcept {
  const bool soon = waited_us >= rules.submit_us || ahead_us <= rules.chunk_us;
  if (soon && !high_copying) return Answer::kRun;
  return waited_us >= rules.progress_after_us ? Answer::kProgress : Answer::kHeldByHigh;
}

bool closes(const Rules& rules, const Chunk& chunk, const Item& item) noexcept {
  if (chunk.launches == 0) return false;
  if (chunk.launches >= rules.chunk_launches || !item.known) return true;
  return std::uint64_t{chunk.expected_us} + item.expected_us > rules.chunk_us;
}

}  // namespace cotenant
