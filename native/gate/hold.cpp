#include "gate/hold.h"

#include <algorithm>

namespace cotenant {
namespace {

using Renewal = HoldState::Renewal;

constexpr std::uint64_t kStaleTurnNs =
    100'000'000;  // a client that has the turn and has been silent for this long is gone
constexpr std::uint64_t kLookForAbsentNs =
    250'000'000;  // after a pause of this length the cause of the pause is checked
// Minimum progress ends after this time: its kernel is long, or its context is not on the GPU now.
constexpr std::uint64_t kProgressLimitNs = 5'000'000;
constexpr std::uint64_t kProgressLimitCoRunNs = 1'000'000;  // if contexts run side by side
// The number of looks in a pause at which progress is tolerated, because chunks released before may still finish.
constexpr std::uint32_t kSlipping = 2;

// Intervals between looks. High clients clear the pause flags themselves. Only the end of a resume delay is up to the
// helper thread, and its look must be on time, because the GPU is idle meanwhile.
constexpr std::uint32_t kDelayedUs = 50;
constexpr std::uint32_t kProgressingUs = 100;
constexpr std::uint32_t kBesideUs = 20;  // during a chunk concurrent with a request, so that no second chunk passes
constexpr std::uint32_t kBacklogUs = 1'000;
constexpr std::uint32_t kIdleUs = 10'000;
// Renewal of the time slice: how long the thread waits for a preemption point on the CPU, how long it naps after that, and for
// how long in all; and how long the GPU must find nothing to do.
constexpr std::uint64_t kWatchNs = 150'000;
constexpr std::uint32_t kRenewingUs = 20;
constexpr std::uint64_t kRenewalLimitNs = 2'000'000;
constexpr std::uint64_t kStandNs = 8'000;

void nap(HoldDecision& decision, std::uint32_t us) noexcept {
  decision.next = NextLook::kNap;
  decision.again_ns = std::uint64_t{us} * 1000;
}

std::uint32_t next_waiting(std::uint32_t waiting, std::uint32_t after) noexcept {
  for (std::uint32_t i = 1; i <= protocol::MAX_BEST_EFFORT; ++i) {
    const std::uint32_t slot = (after + i) % protocol::MAX_BEST_EFFORT;
    if (waiting & (1u << slot)) return slot;
  }
  return after;
}

// If something other than minimum progress ran in a pause, a new pause begins. The word may be 0 for a moment between two
// bursts; that does not end a pause.
void note_pause(const HoldView& view, bool pending, HoldState& state) noexcept {
  if (!state.progressing && view.far != state.pause_far) {
    state.pause_far = view.far;
    ++state.slipped;
  }
  if (!pending || (!view.held && !state.progressing)) state.pausing = false;
  else if (!state.pausing || state.slipped > kSlipping) {
    state.pausing = true;
    state.held_since_ns = view.now_ns;
    state.slipped = 0;
  }
}

bool absent_due(std::uint64_t now, HoldState& state) noexcept {
  const bool due = now - state.held_since_ns > kLookForAbsentNs && now - state.absent_polled_ns > kLookForAbsentNs;
  if (due) state.absent_polled_ns = now;
  return due;
}

void account(HoldDecision& decision, Answer answer, bool backlog, std::uint64_t now, HoldState& state) noexcept {
  const std::uint64_t passed = state.last_poll_ns && now > state.last_poll_ns ? now - state.last_poll_ns : 0;
  state.last_poll_ns = now;
  if (!backlog) decision.empty_ns = answer == Answer::kRun ? passed : 0;
  else if (answer == Answer::kNotMyTurn) decision.turn_ns = passed;
  else if (answer == Answer::kHeldByHigh || answer == Answer::kPaused) decision.held_ns = passed;
}

// A time slice continues while nobody else wants the GPU. If a request comes shortly before it ends, the kernel that it finds
// is preempted in its middle and continues in the middle of the request: two context switches. A new slice begins when work
// arrives on an idle GPU, so released work stands still for a moment at a preemption point, long before its slice ends
// (docs/design/decisions/0007). Returns in how many us that is due, at most kBacklogUs.
std::uint32_t renewal_due_us(const Rules& rules, const HoldView& view, const HoldState& state) noexcept {
  if (rules.renew_us == 0 || !rules.isolated || rules.submission != protocol::Submission::kDeep) return kBacklogUs;
  if (view.seen.high_active) return kBacklogUs;  // the slice would be the request's, which does not hold yet
  const std::uint64_t slice_us = view.now_ns > state.slice_since_ns ? (view.now_ns - state.slice_since_ns) / 1000 : 0;
  const std::uint64_t passed_us = std::min(slice_us, view.seen.idle_us);
  const std::uint64_t due_us = rules.renew_us;
  return passed_us >= due_us ? 0 : static_cast<std::uint32_t>(std::min<std::uint64_t>(kBacklogUs, due_us - passed_us));
}

// Continues a renewal, or begins one that is due. False: there is none. If a request begins meanwhile, it finds the
// word set, as it needs it.
bool renew(const Rules& rules, const HoldView& view, HoldDecision& decision, HoldState& state) noexcept {
  const std::uint64_t now = view.now_ns;
  if (state.renewal == Renewal::kNone) {
    if (view.held || renewal_due_us(rules, view, state) > 0) return false;
    state.renewal = Renewal::kUntilBorder;
    state.slice_since_ns = now;
    state.renew_from = view.far;
    state.watched = false;
    decision.action = HoldAction::kStand;
  }
  if (state.renewal == Renewal::kUntilBorder) {
    if (view.far == state.renew_from && now - state.slice_since_ns < kRenewalLimitNs) {
      state.watched = !state.watched;
      nap(decision, kRenewingUs);
      if (state.watched) {
        decision.next = NextLook::kBorder;
        decision.again_ns = kWatchNs;
      }
      return true;
    }
    state.renewal = Renewal::kStanding;
    state.stands_until_ns = now + kStandNs;
  }
  if (now < state.stands_until_ns) {
    decision.next = NextLook::kMoment;
    decision.again_ns = state.stands_until_ns - now;
    return true;
  }
  state.renewal = Renewal::kNone;
  state.slice_since_ns = now;
  decision.action = HoldAction::kOpen;
  nap(decision, kRenewingUs);
  return true;
}

// Whether chunks may run concurrently with requests.
bool passes_beside(const Rules& rules) noexcept { return rules.co_run_every_us > 0; }

// Lets one chunk pass: the word is cleared when the chunk begins, and set again when the GPU has passed a preemption point or a
// gate. Beside a request more may follow it.
void begin_progress(const Rules& rules, const HoldView& view, std::uint64_t held_us, HoldDecision& decision,
                    HoldState& state) noexcept {
  state.progressing = true;
  state.progress_from = view.far;
  state.progress_begun_ns = 0;
  state.progress_lasts_us = passes_beside(rules) && view.seen.high_active ? rules.co_run_slice_us : 0;
  decision.action = HoldAction::kChunk;
  decision.progresses = true;
  // A chunk that the policy allows beside a request is not counted as minimum progress.
  decision.counts = held_us >= rules.progress_after_us;
}

void end_progress(const Rules& rules, const HoldView& view, Answer answer, HoldDecision& decision,
                  HoldState& state) noexcept {
  const std::uint64_t lasts_ns = std::uint64_t{state.progress_lasts_us} * 1000;
  const std::uint64_t limit_ns = lasts_ns + (rules.isolated ? kProgressLimitNs : kProgressLimitCoRunNs);
  const bool passed = view.far != state.progress_from;
  if (passed && state.progress_begun_ns == 0) state.progress_begun_ns = view.now_ns;
  const bool over = passed && view.now_ns - state.progress_begun_ns >= lasts_ns;
  if (!over && view.progressed_ns < limit_ns) return;
  state.progressing = false;
  state.pause_far = view.far;
  state.slipped = 0;
  if (answer != Answer::kRun) decision.action = HoldAction::kClose;
}

// When released work must be looked at again because of a request that does not hold it yet, or may begin now.
std::uint32_t until_held_us(const Rules& rules, const GateView& seen) noexcept {
  if (rules.grace_us == 0) return kBacklogUs;
  const std::uint64_t age_us = seen.high_active ? seen.active_us : 0;
  const std::uint64_t left_us = rules.grace_us > age_us ? rules.grace_us - age_us : 0;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(left_us, kBesideUs, kBacklogUs));
}

std::uint32_t again_us(const Rules& rules, const HoldView& view, Answer answer, bool backlog,
                       const HoldState& state) noexcept {
  const bool beside = passes_beside(rules);
  if (state.progressing) return beside ? kBesideUs : kProgressingUs;
  if (!backlog) return view.stands ? kBacklogUs : kIdleUs;
  if (answer == Answer::kRun)
    return std::min(until_held_us(rules, view.seen), std::max(kRenewingUs, renewal_due_us(rules, view, state)));
  if (answer != Answer::kHeldByHigh) return kBacklogUs;
  if (beside) return std::min(kDelayedUs, std::max(kBesideUs, rules.co_run_every_us / 2));
  return rules.resume_delay_us > 0 ? kDelayedUs : kBacklogUs;
}

}  // namespace

bool is_gated(const Rules& rules, bool high_registered) noexcept {
  return rules.paused || (rules.protect && high_registered);
}

bool has_backlog(const Rules& rules, const HoldView& view) noexcept {
  return is_gated(rules, view.seen.high_registered) && (view.launches_out > 0 || view.callers_waiting > 0);
}

bool has_turn(std::uint32_t slot, std::uint32_t waiting, std::uint32_t turn) noexcept {
  return (waiting & ~(1u << slot)) == 0 || turn == slot;
}

TurnDecision decide_turn(const Rules& rules, const HoldView& view) noexcept {
  constexpr TurnDecision kKeep{TurnAction::kKeep, 0};
  if (!rules.isolated) return kKeep;
  const bool backlog = has_backlog(rules, view);
  const std::uint64_t turn_ns = std::uint64_t{rules.quantum_us} * 1000;
  if (view.turn == view.slot) {
    const std::uint32_t to = next_waiting(view.waiting & ~(1u << view.slot), view.slot);
    const bool over = !backlog || view.turn_ns > turn_ns;
    return to != view.slot && over ? TurnDecision{TurnAction::kGive, to} : kKeep;
  }
  if (!backlog) return kKeep;
  const bool gone = view.turn >= protocol::MAX_BEST_EFFORT || (view.waiting & (1u << view.turn)) == 0;
  const bool stale = view.turn_ns > turn_ns + kStaleTurnNs;
  return gone || stale ? TurnDecision{TurnAction::kTake, 0} : kKeep;
}

HoldDecision decide_hold(const Rules& rules, const HoldView& view, HoldState& state) noexcept {
  HoldDecision decision;
  const std::uint64_t now = view.now_ns;
  const bool backlog = has_backlog(rules, view);
  // Work that stands still has no use for a turn, but it may need the end of a pause.
  const bool pending = backlog || (is_gated(rules, view.seen.high_registered) && view.stands);
  decision.waiting = backlog;
  if (backlog && !view.held) decision.released_ns = std::min(view.out_ns, std::uint64_t{rules.chunk_us} * 1000);

  note_pause(view, pending, state);
  GateView seen = view.seen;
  if (state.pausing) {
    seen.held_us = (now - state.held_since_ns) / 1000;
    seen.progressed_us = view.progressed_ns / 1000;
    decision.look_for_absent = absent_due(now, state);
  }
  const Answer answer = release(rules, seen);
  account(decision, answer, backlog, now, state);

  const bool released = answer == Answer::kRun && backlog && !state.progressing;
  if (released && (state.renewal != Renewal::kNone || !view.stops_inside) && renew(rules, view, decision, state))
    return decision;
  state.renewal = Renewal::kNone;
  if (view.held) state.slice_since_ns = now;  // it begins when the word is cleared

  if (state.progressing) {
    nap(decision, again_us(rules, view, answer, backlog, state));
    end_progress(rules, view, answer, decision, state);
    return decision;
  }
  if (answer == Answer::kProgress) begin_progress(rules, view, seen.held_us, decision, state);
  else if (answer == Answer::kRun && view.held) decision.action = HoldAction::kOpen;
  else if (answer != Answer::kRun && !view.held) decision.action = HoldAction::kClose;
  nap(decision, again_us(rules, view, answer, backlog, state));
  return decision;
}

}  // namespace cotenant
