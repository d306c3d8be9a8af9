#include "interposer/best_effort/tick.h"

#include "gate/hold.h"
#include "gate/hold_page.h"
#include "generated/rules.h"
#include "interposer/base/clock.h"
#include "interposer/best_effort/absent_clients.h"
#include "interposer/best_effort/outstanding.h"
#include "interposer/best_effort/slices.h"
#include "interposer/best_effort/standstill.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

constexpr std::uint32_t kNoLinkUs = 10'000;

// As in open_hold(): another process may have checked just before the word was set here, so check again.
void close_word(Gpu& gpu, const Link& link, const Rules& rules) noexcept {
  link.hold().store(1, std::memory_order_seq_cst);
  if (release(rules, best_effort_view(gpu, link, now_ns())) == Answer::kRun)
    open_hold(link.hold_page(), link.region->settings);
}

// The program of a young request may have begun to wait for it since this decision was made (high/holding.h).
void open_word(Gpu& gpu, const Link& link, const Rules& rules) noexcept {
  open_hold(link.hold_page(), link.region->settings);
  if (rules.grace_us == 0) return;
  if (release(rules, best_effort_view(gpu, link, now_ns())) == Answer::kHeldByHigh)
    link.hold().store(1, std::memory_order_seq_cst);
}

// Changes when the GPU passes a preemption point of a stream, or reaches another gate in a graph.
std::uint64_t border_count(const Gpu& gpu, const Link& link) noexcept {
  std::uint32_t borders = 0;
  for (std::uint32_t i = 0; i < stream_count(); ++i)
    if (stream_at(i).context->gpu == &gpu) borders += stream_at(i).lane.passed.load(std::memory_order_relaxed);
  return std::uint64_t{borders} << 32 | last_gate(link);
}

// Whether a launch is outstanding that stops inside when the pause flag is set. No mark would show that it stands.
bool stops_inside(const Gpu& gpu) noexcept {
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    const Lane& lane = stream_at(i).lane;
    const bool out =
        lane.stops_inside_ns.load(std::memory_order_relaxed) > lane.finished_ns.load(std::memory_order_relaxed);
    if (out && stream_at(i).context->gpu == &gpu) return true;
  }
  return false;
}

// The outstanding work of this client, after streams that stand still were looked for.
Outstanding count_submitted(Gpu& gpu, const Link& link, std::uint64_t now) noexcept {
  // Minimum progress may clear the pause flag while a request is active. The GPU need not run this client's work then.
  const bool held =
      link.hold().load(std::memory_order_seq_cst) != 0 || link.hold_page().active.load(std::memory_order_seq_cst) != 0;
  const Outstanding out = best_effort_outstanding(gpu);
  const bool others = (who_waits(link, now) & ~(1u << link.slot)) != 0;
  return look_for_standstill(gpu, held, others, now) ? best_effort_outstanding(gpu) : out;
}

// Publishes what this client has finished, and whether it wants the GPU, for the agent.
void publish(const Link& link, const Rules& rules, const HoldView& view, std::uint64_t standing_ns) noexcept {
  auto& slot = link.best_effort();
  const std::uint64_t submitted = slot.submittedNs.load(std::memory_order_relaxed);
  const std::uint64_t unfinished = view.out_ns + standing_ns;
  const bool counts = is_gated(rules, view.seen.high_registered) && submitted > unfinished;
  slot.finishedNs.store(counts ? submitted - unfinished : submitted, std::memory_order_relaxed);
  slot.waiting.store(has_backlog(rules, view) ? 1 : 0, std::memory_order_relaxed);
}

HoldView make_view(Gpu& gpu, const Link& link, const Rules& rules, const Outstanding& out, std::uint64_t now) noexcept {
  const BestEffortGpu& own = gpu.best_effort;
  HoldView view{};
  view.now_ns = now;
  view.slot = link.slot;
  view.launches_out = out.launches;
  view.out_ns = out.ns;
  view.stands = out.stands;
  view.callers_waiting = own.callers_waiting.load(std::memory_order_relaxed);
  view.seen.high_registered = link.region->roster.registered.load(std::memory_order_relaxed) != 0;
  publish(link, rules, view, out.standing_ns);
  view.seen = best_effort_view(gpu, link, now);
  view.held = link.hold().load(std::memory_order_seq_cst) != 0;
  view.far = border_count(gpu, link);
  view.stops_inside = stops_inside(gpu);
  view.progressed_ns = now - own.progressed_at.load(std::memory_order_relaxed);
  return view;
}

void apply(Gpu& gpu, const Link& link, const Rules& rules, const HoldDecision& decision, std::uint64_t now) noexcept {
  BestEffortGpu& own = gpu.best_effort;
  auto& slot = link.best_effort();
  if (decision.look_for_absent) clear_holds_of_absent(link.hold_page(), own.presence, now);
  if (decision.progresses) own.progressed_at.store(now, std::memory_order_relaxed);
  switch (decision.action) {
    case HoldAction::kLeave: break;
    case HoldAction::kOpen: open_word(gpu, link, rules); break;
    case HoldAction::kClose: close_word(gpu, link, rules); break;
    case HoldAction::kChunk: link.hold().store(0, std::memory_order_seq_cst); break;
    case HoldAction::kStand: stand_hold(link.hold_page()); break;
  }
  if (own.heeds_no_pause.load(std::memory_order_relaxed)) link.hold().store(0, std::memory_order_seq_cst);
  slot.releasedNs.store(decision.released_ns, std::memory_order_relaxed);
  link.hold_page().releasedNs.store(decision.released_ns, std::memory_order_relaxed);
  if (decision.counts) slot.minProgress.fetch_add(1, std::memory_order_relaxed);
  if (decision.empty_ns) slot.emptyNs.fetch_add(decision.empty_ns, std::memory_order_relaxed);
  if (decision.turn_ns) slot.turnNs.fetch_add(decision.turn_ns, std::memory_order_relaxed);
  if (decision.held_ns) slot.heldNs.fetch_add(decision.held_ns, std::memory_order_relaxed);
}

// Waits for the next poll on the CPU, because the interval is shorter than a nap.
void spin_until_next_look(Gpu& gpu, const Link& link, const HoldDecision& decision, std::uint64_t far) noexcept {
  const std::uint64_t started = now_ns();
  const auto passed = [&] {
    static_cast<void>(best_effort_outstanding(gpu));
    return border_count(gpu, link) != far;
  };
  do {
    if (decision.next == NextLook::kBorder && passed()) return;
    relax();
  } while (now_ns() - started < decision.again_ns);
}

}  // namespace

std::uint32_t best_effort_tick(Gpu& gpu, std::uint64_t now) noexcept {
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return kNoLinkUs;
  Outstanding out = count_submitted(gpu, *link, now);
  for (;;) {
    const Rules rules = read_rules(link->region->settings);
    const HoldView view = make_view(gpu, *link, rules, out, now);
    const HoldDecision decision = decide_hold(rules, view, gpu.best_effort.hold);
    apply(gpu, *link, rules, decision, now);
    const HoldState& hold = gpu.best_effort.hold;
    note_slice(gpu.best_effort.slice, link->best_effort(), hold.progressing, hold.progress_begun_ns, now);
    if (decision.next == NextLook::kNap) return static_cast<std::uint32_t>(decision.again_ns / 1000);
    spin_until_next_look(gpu, *link, decision, view.far);
    now = now_ns();
    out = best_effort_outstanding(gpu);
  }
}

}  // namespace cotenant
