#include "interposer/best_effort/turns.h"

#include <algorithm>

#include "generated/rules.h"
#include "interposer/base/clock.h"
#include "interposer/best_effort/absent.h"
#include "interposer/best_effort/hold_word.h"
#include "interposer/best_effort/outstanding.h"
#include "interposer/best_effort/standstill.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

using protocol::Region;

constexpr std::uint64_t kStaleTurnNs = 100'000'000;   // a holder silent for so long has gone
constexpr std::uint64_t kCheckLivesNs = 250'000'000;  // a pause so long deserves a look at its cause
// A trickle ends by itself after this: what runs is long, or its context is not on the GPU just now.
constexpr std::uint64_t kTrickleLimitNs = 5'000'000;
constexpr std::uint64_t kTrickleLimitBesideNs = 1'000'000;  // where contexts do not exclude each other

// When to look again. High clients open the hold words themselves; only a resume delay is ours to end,
// and then precisely, because the GPU stands idle meanwhile.
constexpr std::uint32_t kDelayedUs = 50;
constexpr std::uint32_t kTricklingUs = 100;
constexpr std::uint32_t kBesideUs = 20;  // a chunk beside a request, of which a second one must not slip through
constexpr std::uint32_t kBacklogUs = 1'000;
// Ticks on which progress is tolerated after a hold: chunks already released may still finish.
constexpr std::uint32_t kSlipping = 2;
constexpr std::uint32_t kIdleUs = 10'000;
// Renewing the time slice: how long a chunk's end is waited for without leaving the CPU, then how often it is looked for and
// for how long at most; and how long the GPU must find nothing to do.
constexpr std::uint64_t kSpinForBorderNs = 150'000;
constexpr std::uint32_t kRenewingUs = 20;
constexpr std::uint64_t kRenewalLimitNs = 2'000'000;
constexpr std::uint64_t kStandNs = 8'000;

std::uint32_t next_waiting(std::uint32_t waiting, std::uint32_t after) noexcept {
  for (std::uint32_t i = 1; i <= protocol::MAX_BEST_EFFORT; ++i) {
    const std::uint32_t slot = (after + i) % protocol::MAX_BEST_EFFORT;
    if (waiting & (1u << slot)) return slot;
  }
  return after;
}

// A request may begin between the look and the store: look again after opening.
void open_word(Region& region, std::uint32_t slot) noexcept {
  region.holds.hold[slot].store(0, std::memory_order_seq_cst);
  const bool held = region.activity.active.load(std::memory_order_seq_cst) != 0 && rule::protect(region.settings) &&
                    rule::when_active(region.settings) == protocol::WhenActive::kWait;
  if (held) region.holds.hold[slot].store(1, std::memory_order_seq_cst);
}

// The mirror image: whoever would open it may have looked just before we closed it.
void close_word(Gpu& gpu, const Link& link, const Rules& rules) noexcept {
  link.hold().store(1, std::memory_order_seq_cst);
  if (release(rules, best_effort_seen(gpu, link, now_ns())) == Answer::kRun) open_word(*link.region, link.slot);
}

void give_turn(const Link& link, std::uint32_t to, std::uint64_t now) noexcept {
  Region& region = *link.region;
  if (to == link.slot) return;
  link.hold().store(1, std::memory_order_seq_cst);
  region.activity.turnSince.store(now, std::memory_order_relaxed);
  region.activity.turn.store(to, std::memory_order_seq_cst);
  if (region.activity.active.load(std::memory_order_seq_cst) == 0) open_word(region, to);
}

void take_turns(const Link& link, const Rules& rules, bool backlog, std::uint64_t now) noexcept {
  auto& activity = link.region->activity;
  const std::uint32_t waiting = activity.waiting.load(std::memory_order_relaxed);
  std::uint32_t holder = activity.turn.load(std::memory_order_relaxed);
  const std::uint64_t since = activity.turnSince.load(std::memory_order_relaxed);
  const std::uint64_t held = now > since ? now - since : 0;
  if (holder == link.slot) {
    const bool others = (waiting & ~link.bit()) != 0;
    if (others && (!backlog || held > std::uint64_t{rules.turn_us} * 1000))
      give_turn(link, next_waiting(waiting, link.slot), now);
    return;
  }
  if (!backlog) return;
  const bool gone = holder >= protocol::MAX_BEST_EFFORT || (waiting & (1u << holder)) == 0;
  const bool stale = held > std::uint64_t{rules.turn_us} * 1000 + kStaleTurnNs;
  if ((gone || stale) && activity.turn.compare_exchange_strong(holder, link.slot, std::memory_order_seq_cst))
    activity.turnSince.store(now, std::memory_order_relaxed);
}

void account(BestEffortGpu& own, protocol::BestEffortSlot& slot, Answer answer, bool backlog,
             std::uint64_t now) noexcept {
  const std::uint64_t passed = own.last_tick && now > own.last_tick ? now - own.last_tick : 0;
  own.last_tick = now;
  if (!backlog) {
    if (answer == Answer::kRun) slot.emptyNs.fetch_add(passed, std::memory_order_relaxed);
    return;
  }
  if (answer == Answer::kNotMyTurn) slot.turnNs.fetch_add(passed, std::memory_order_relaxed);
  if (answer == Answer::kHeldByHigh || answer == Answer::kPaused)
    slot.heldNs.fetch_add(passed, std::memory_order_relaxed);
}

// A number that changes when the GPU passes a border of a stream, or comes to another gate of a graph.
std::uint64_t how_far(const Gpu& gpu, const Link& link) noexcept {
  std::uint32_t borders = 0;
  for (std::uint32_t i = 0; i < stream_count(); ++i)
    if (stream_at(i).context->gpu == &gpu) borders += stream_at(i).lane.passed.load(std::memory_order_relaxed);
  return std::uint64_t{borders} << 32 | last_gate(link);
}

// One chunk: opened here, closed again when a border or a gate was passed.
void trickle(Gpu& gpu, const Link& link, bool long_pause, std::uint64_t now) noexcept {
  auto& own = gpu.best_effort;
  own.trickling = true;
  own.trickled_at = now;
  own.trickle_from = how_far(gpu, link);
  // A chunk that the policy lets pass beside a request is no emergency.
  if (long_pause) link.best_effort().trickles.fetch_add(1, std::memory_order_relaxed);
  link.hold().store(0, std::memory_order_seq_cst);
}

// A time slice runs on while nobody else wants the GPU. A request that comes shortly before it ends finds a kernel that is
// put off in its middle, and comes back in the middle of the request: two switches of contexts. A slice begins anew with work
// that was not there before, so released work stands still for a moment at a border, long before its slice ends.
// In how many microseconds that is due.
std::uint32_t renewal_due_us(const BestEffortGpu& own, const Region& region, const Rules& rules,
                             std::uint64_t now) noexcept {
  if (rules.renew_us == 0 || !rules.isolated || rules.submission != protocol::Submission::kDeep) return kBacklogUs;
  const std::uint64_t idle_since = region.activity.idleSince.load(std::memory_order_relaxed);
  const std::uint64_t since = std::max(own.slice_since, believable(idle_since, now) ? idle_since : 0);
  const std::uint64_t passed_us = now > since ? (now - since) / 1000 : 0;
  const std::uint64_t due_us = rules.renew_us;
  return passed_us >= due_us ? 0 : static_cast<std::uint32_t>(std::min<std::uint64_t>(kBacklogUs, due_us - passed_us));
}

// Whether something is out that stops inside when the hold is closed: nobody would see it stand.
bool stops_inside(const Gpu& gpu) noexcept {
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    const Lane& lane = stream_at(i).lane;
    const bool out =
        lane.stops_inside_ns.load(std::memory_order_relaxed) > lane.finished_ns.load(std::memory_order_relaxed);
    if (out && stream_at(i).context->gpu == &gpu) return true;
  }
  return false;
}

// Returns when to look again. A request that begins meanwhile finds the hold closed, which is what it wants.
std::uint32_t renew(Gpu& gpu, const Link& link, const Rules& rules) noexcept {
  auto& own = gpu.best_effort;
  const std::uint64_t started = now_ns();
  if (!own.renewing) {
    own.renewing = true;
    own.slice_since = started;
    own.renew_from = how_far(gpu, link);
    link.hold().store(1, std::memory_order_seq_cst);
  }
  const auto stands = [&] {
    static_cast<void>(best_effort_outstanding(gpu));
    return how_far(gpu, link) != own.renew_from;
  };
  bool there = false;
  while (!(there = stands()) && now_ns() - started < kSpinForBorderNs) __builtin_ia32_pause();
  if (!there && started - own.slice_since < kRenewalLimitNs) return kRenewingUs;
  for (const std::uint64_t seen = now_ns(); now_ns() - seen < kStandNs;) __builtin_ia32_pause();
  own.renewing = false;
  own.slice_since = now_ns();
  if (release(rules, best_effort_seen(gpu, link, own.slice_since)) == Answer::kRun) open_word(*link.region, link.slot);
  return kRenewingUs;
}

}  // namespace

std::uint32_t best_effort_tick(Gpu& gpu, std::uint64_t now) noexcept {
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return kIdleUs;
  Region& region = *link->region;
  BestEffortGpu& own = gpu.best_effort;
  auto& slot = link->best_effort();
  const Rules rules = read_rules(region.settings);
  // While a request is active, a hold that is open for a trickle does not mean that the GPU could come here.
  const bool was_held =
      link->hold().load(std::memory_order_seq_cst) != 0 || region.activity.active.load(std::memory_order_seq_cst) != 0;
  Outstanding out = best_effort_outstanding(gpu);
  const bool others = (region.activity.waiting.load(std::memory_order_relaxed) & ~link->bit()) != 0;
  if (look_for_standstill(gpu, was_held, others, now)) out = best_effort_outstanding(gpu);
  const bool gated = rules.paused || (rules.protect && region.activity.registered.load(std::memory_order_relaxed));
  const bool backlog = gated && (out.launches > 0 || own.callers_waiting.load(std::memory_order_relaxed) > 0);
  const bool pending =
      backlog || (gated && out.stands);  // a turn is of no use to what stands, the end of a pause may be

  const std::uint64_t submitted = slot.submittedNs.load(std::memory_order_relaxed);
  const std::uint64_t unfinished = out.ns + out.standing_ns;
  slot.finishedNs.store(gated && submitted > unfinished ? submitted - unfinished : submitted,
                        std::memory_order_relaxed);
  if (backlog) region.activity.waiting.fetch_or(link->bit(), std::memory_order_relaxed);
  else region.activity.waiting.fetch_and(~link->bit(), std::memory_order_relaxed);
  if (rules.isolated) take_turns(*link, rules, backlog, now);

  Seen seen = best_effort_seen(gpu, *link, now);
  const bool held = link->hold().load(std::memory_order_seq_cst) != 0;  // turns may have closed it
  const std::uint64_t chunk_ns = std::uint64_t{rules.chunk_us} * 1000;
  slot.releasedNs.store(backlog && !held ? std::min(out.ns, chunk_ns) : 0, std::memory_order_relaxed);
  // A pause in which something ran, but for a trickle, is a new pause. That the hold was open for a moment between
  // two bursts does not end one.
  const std::uint64_t far = how_far(gpu, *link);
  if (!own.trickling && far != own.pause_far) {
    own.pause_far = far;
    ++own.slipped;
  }
  if (!pending || (!held && !own.trickling)) own.held_since = 0;
  else if (own.held_since == 0 || own.slipped > kSlipping) {
    own.held_since = now;
    own.slipped = 0;
  }
  if (own.held_since) {
    seen.held_us = (now - own.held_since) / 1000;
    seen.trickled_us = (now - own.trickled_at) / 1000;
    if (now - own.held_since > kCheckLivesNs && now - own.looked_for_absent > kCheckLivesNs) {
      own.looked_for_absent = now;
      let_go_of_absent(region, own.presence, now);
    }
  }
  const Answer answer = release(rules, seen);
  account(own, slot, answer, backlog, now);

  const bool released = answer == Answer::kRun && backlog && !own.trickling && (own.renewing || !stops_inside(gpu));
  if (released && (own.renewing || (!held && renewal_due_us(own, region, rules, now) == 0)))
    return renew(gpu, *link, rules);
  own.renewing = false;
  if (held) own.slice_since = now;  // it begins when the hold is opened

  const bool beside = rules.beside_every_us > 0 && !rules.isolated;
  const std::uint32_t trickling_us = beside ? kBesideUs : kTricklingUs;
  if (own.trickling) {
    const std::uint64_t limit_ns = rules.isolated ? kTrickleLimitNs : kTrickleLimitBesideNs;
    if (far == own.trickle_from && now - own.trickled_at < limit_ns) return trickling_us;
    own.trickling = false;
    own.pause_far = far;
    own.slipped = 0;
    if (answer != Answer::kRun) close_word(gpu, *link, rules);
    return trickling_us;
  }
  if (answer == Answer::kTrickle && pending) trickle(gpu, *link, seen.held_us >= rules.trickle_after_us, now);
  else if (answer == Answer::kRun && held) open_word(region, link->slot);
  else if (answer != Answer::kRun && answer != Answer::kTrickle && !held) close_word(gpu, *link, rules);
  if (own.trickling) return trickling_us;
  if (!backlog) return out.stands ? kBacklogUs : kIdleUs;
  if (answer == Answer::kHeldByHigh && beside)
    return std::min(kDelayedUs, std::max(kBesideUs, rules.beside_every_us / 2));
  if (answer == Answer::kHeldByHigh && rules.resume_delay_us > 0) return kDelayedUs;
  return answer == Answer::kRun ? std::max(kRenewingUs, renewal_due_us(own, region, rules, now)) : kBacklogUs;
}

}  // namespace cotenant
