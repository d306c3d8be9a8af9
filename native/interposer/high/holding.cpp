#include "interposer/high/holding.h"

#include <algorithm>

#include "gate/gate.h"
#include "generated/rules.h"
#include "interposer/base/clock.h"
#include "interposer/high/job.h"
#include "interposer/kernels/kernel_table.h"
#include "interposer/process/process.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

using protocol::Region;

constexpr std::uint64_t kSliceNs = 10'000'000;
// Within HighGpu::lock of one GPU: no other lock is taken in it.
Spin several_gpus;

constexpr std::uint64_t kMaxAheadNs = 10'000'000'000;  // of what another process wrote, more than this is not believed

// Whether a request that is old enough closes the pause flags (holds_apply() says the same of every request).
bool holds_when_old(const protocol::Settings& rules) noexcept {
  return rule::protect(rules) && rule::when_active(rules) == protocol::WhenActive::kWait;
}

// The atomic operations of the next two functions are sequentially consistent. `active` and the pause flag form a protocol
// with every other client of the GPU in which each side first stores and then checks. The check after clearing a word
// detects a request of another client that began in between.
void hold_others(const Link& link, std::uint64_t now) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << link.slot;
  const protocol::Settings& rules = link.region->settings;
  const bool closes = rule::grace_us(rules) == 0 && holds_when_old(rules);
  each_hold(link, [&](protocol::HoldPage& page, std::uint32_t) {
    page.high[link.slot].burstSince.store(now, std::memory_order_relaxed);
    const std::uint64_t before = page.active.fetch_or(bit, std::memory_order_seq_cst);
    if (closes) page.word.store(1, std::memory_order_seq_cst);
    if (before == 0) page.activations.fetch_add(1, std::memory_order_relaxed);
  });
}

// Notes by which rule a burst that begins on this GPU becomes old.
void note_age(Holding& own, const protocol::Settings& rules) noexcept {
  const bool young = rule::grace_us(rules) != 0;
  // Not cleared here: where the rules have changed since, end_grace_period_of() finds nothing left to do.
  if (young) [[unlikely]]
    own.young.store(true, std::memory_order_relaxed);
  own.old_after = young ? rule::grace_launches(rules) : rule::co_run_until_launches(rules);
}

// Calls `use` with the entries that say how old the work of this client is: its own, and on the job's other GPUs.
template <typename Use>
void each_age(const Link& link, Use use) noexcept {
  each_hold(link, [&](protocol::HoldPage& page, std::uint32_t) { use(page, page.high[link.slot].burstSince); });
  if (gpu_count() > 1) [[unlikely]]
    each_hold_of_job([&](protocol::HoldPage& page, std::uint32_t slot) { use(page, page.high[slot].burstSince); });
}

// The burst counts as one that began so long ago.
void end_grace_period(const Link& link, std::uint32_t us, bool closes) noexcept {
  const std::uint64_t ns = std::uint64_t{us} * 1000;
  const std::uint64_t now = now_ns();
  const std::uint64_t since = now > ns ? now - ns : 1;
  each_age(link, [&](protocol::HoldPage& page, std::atomic<std::uint64_t>& begun) {
    if (begun.load(std::memory_order_relaxed) > since) begun.store(since, std::memory_order_seq_cst);
    if (closes) page.word.store(1, std::memory_order_seq_cst);
  });
}

// Under the lock. A young burst holds from now on.
void hold_if_young(Holding& own, const Link& link) noexcept {
  if (!own.young.exchange(false, std::memory_order_relaxed)) return;
  const protocol::Settings& rules = link.region->settings;
  end_grace_period(link, rule::grace_us(rules), holds_when_old(rules));
}

// Clears the pause flags of the clients that may run now: of the one whose turn it is, or of all if contexts run side by
// side.
void let_others_go(const Link& link, std::uint64_t now) noexcept {
  const Region& region = *link.region;
  const auto& rules = region.settings;
  const std::uint64_t bit = std::uint64_t{1} << link.slot;
  const bool opens = !rule::paused(rules) && rule::resume_delay_us(rules) == 0;
  const bool closes = holds_apply(rules);
  const bool turns = rule::isolated(rules);
  const std::uint32_t turn = region.roster.turn.load(std::memory_order_relaxed);
  each_hold(link, [&](protocol::HoldPage& page, std::uint32_t slot) {
    const std::uint64_t left = page.active.fetch_and(~bit, std::memory_order_seq_cst) & ~bit;
    if (left != 0) return;
    page.idleSince.store(now, std::memory_order_relaxed);
    if (opens && (!turns || slot == turn)) page.word.store(0, std::memory_order_seq_cst);
    if (closes && page.active.load(std::memory_order_seq_cst) != 0) page.word.store(1, std::memory_order_seq_cst);
  });
}

// Whether each best-effort client knows whether it is held. It does not if it has come since, or took this client for
// stopped.
bool is_known(const Link& link, bool held) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << link.slot;
  bool known = true;
  each_hold(link, [&](const protocol::HoldPage& page, std::uint32_t) {
    known = known && ((page.active.load(std::memory_order_seq_cst) & bit) != 0) == held;
  });
  return known;
}

bool holds_anywhere() noexcept {
  for (std::uint32_t i = 0; i < gpu_count(); ++i)
    if (gpu_at(i).high.holding.held.load(std::memory_order_relaxed)) return true;
  return false;
}

// A burst that holds has begun or ended on this GPU. The others' pages are written here, because they are due as soon as its own.
[[gnu::cold, gnu::noinline]] void hold_on_all(const Gpu& gpu, std::uint64_t now) noexcept {
  Locked lock(several_gpus);
  const bool begun = gpu.high.holding.held.load(std::memory_order_relaxed);
  const bool held = begun || holds_anywhere();
  for (std::uint32_t i = 0; i < gpu_count(); ++i) {
    const Link* link = gpu_at(i).link.load(std::memory_order_acquire);
    if (!link) continue;
    if (!held) let_others_go(*link, now);
    else if (begun && (&gpu_at(i) == &gpu || !is_known(*link, true))) hold_others(*link, now);
  }
}

// Mends this client's bit on one GPU.
void mend(const Gpu& gpu, const Link& link, std::uint64_t now) noexcept {
  Locked lock(several_gpus);
  const bool held = gpu.high.holding.held.load(std::memory_order_relaxed) || holds_anywhere();
  if (is_known(link, held)) return;
  if (held) hold_others(link, now);
  else let_others_go(link, now);
}

// After this time without a launch that was seen to end the client shares the GPU; 0: never. A training has no
// requests, and may go on for long without asking for completions.
std::uint64_t patience_ns(const Link& link) noexcept {
  const protocol::KernelTable* profile = kernel_table();
  const std::uint64_t us = rule::startup_timeout_us(link.region->settings);
  return us == 0 || (profile && profile->training) ? 0 : us * 1000;
}

// The program's own statement about its phase, if any.
enum class Said { kNothing, kStarts, kServes };
std::atomic<Said> said{Said::kNothing};

// Whether the client starts up: as the program says, or as its work shows. Under HighGpu::lock.
bool starts_up(const HighGpu& own, const Link& link) noexcept {
  const Said says = said.load(std::memory_order_relaxed);
  const bool answers = link.high().serves.load(std::memory_order_relaxed) != 0;
  return says == Said::kNothing ? !answers && !own.startup.serves() : says == Said::kStarts;
}

void note_startup(Gpu& gpu, const Link& link, std::uint64_t now) noexcept {
  HighGpu& own = gpu.high;
  const std::uint64_t patience = patience_ns(link);
  own.startup.doubt(now, own.progress.limit_ns(patience));
  const bool starting = patience != 0 && starts_up(own, link);
  if (own.holding.starting == starting) return;
  own.holding.starting = starting;
  own.holding.sharing = false;
  if (starting) own.holding.turns.begin(now);
  if (!starting) own.progress.learn(own.startup.longest_ns());
  link.high().starting.store(starting ? 1 : 0, std::memory_order_relaxed);
}

}  // namespace

void update_hold(Gpu& gpu, const Link& link, std::uint64_t now) noexcept {
  Holding& own = gpu.high.holding;
  if (own.starting) {
    note_startup(gpu, link, now);
    own.turns.pass(now, own.held);
    if (own.starting) own.sharing = own.turns.shares();
  }
  const bool busy = gpu.high.busy_streams > 0;
  const bool hold = gpu.high.announced_until > now || (busy && !own.sharing);
  const bool shares = busy && !hold;
  if (shares != (own.shared_from != 0)) {
    if (!shares) link.high().sharedNs.fetch_add(now - own.shared_from, std::memory_order_relaxed);
    own.shared_from = shares ? now : 0;
  }
  if (hold == own.held.load(std::memory_order_relaxed)) return;
  own.held.store(hold, std::memory_order_relaxed);
  if (hold) note_age(own, link.region->settings);
  if (gpu_count() > 1) [[unlikely]]
    return hold_on_all(gpu, now);
  if (hold) hold_others(link, now);
  else let_others_go(link, now);
}

void end_grace_period_of(Gpu& gpu) noexcept {
  Locked lock(gpu.high.lock);
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (link && gpu.high.holding.held) hold_if_young(gpu.high.holding, *link);
}

void hold_step(const Link& link, std::uint64_t now, bool old) noexcept {
  const protocol::Settings& rules = link.region->settings;
  // A request that is young does not hold yet, and what is queued behind its first step is not young.
  if (rule::grace_us(rules) != 0 || follows(link)) return;
  const std::uint64_t until_ns = std::uint64_t{rule::co_run_until_us(rules)} * 1000;
  const std::uint64_t since = old && now > until_ns ? now - until_ns : now;
  each_age(link, [&](protocol::HoldPage&, std::atomic<std::uint64_t>& begun) {
    begun.store(since, std::memory_order_relaxed);
  });
}

void hold_old(Gpu& gpu) noexcept {
  Holding& own = gpu.high.holding;
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link || !own.held) return;
  // A young burst does not have the words yet. Otherwise they say what best-effort work is let through now.
  if (own.young.load(std::memory_order_relaxed)) hold_if_young(own, *link);
  else if (!follows(*link)) end_grace_period(*link, rule::co_run_until_us(link->region->settings), false);
}

void note_launch_ahead(const Link& link) noexcept {
  std::uint64_t ahead = 0;
  each_hold(link, [&](const protocol::HoldPage& page, std::uint32_t) {
    ahead += std::min(page.releasedNs.load(std::memory_order_relaxed), kMaxAheadNs);
  });
  auto& slot = link.high();
  slot.aheadNs.fetch_add(ahead, std::memory_order_relaxed);
  if (ahead > slot.aheadMaxNs.load(std::memory_order_relaxed)) slot.aheadMaxNs.store(ahead, std::memory_order_relaxed);
}

bool high_announce(Gpu& gpu, std::uint64_t until) noexcept {
  Locked lock(gpu.high.lock);
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return false;
  const std::uint64_t now = now_ns();
  const bool pending = gpu.high.announced_until != 0;
  if (until > gpu.high.announced_until) gpu.high.announced_until = until;
  gpu.high.progress.start_again(now);
  gpu.high.startup.end();
  gpu.high.holding.sharing = false;
  update_hold(gpu, *link, now);
  return !pending;
}

void high_request_begins(Gpu& gpu) noexcept {
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link || link->high().starting.load(std::memory_order_relaxed) == 0) return;
  if (said.load(std::memory_order_relaxed) != Said::kNothing) return;
  Locked lock(gpu.high.lock);
  const std::uint64_t now = now_ns();
  gpu.high.startup.end();
  note_startup(gpu, *link, now);
  update_hold(gpu, *link, now);
}

std::uint32_t high_expire(Gpu& gpu, std::uint64_t now) noexcept {
  Locked lock(gpu.high.lock);
  const std::uint64_t until = gpu.high.announced_until;
  if (until == 0) return kNothingAnnounced;
  if (until > now) return static_cast<std::uint32_t>((until - now) / 1000 + 1);
  gpu.high.announced_until = 0;
  if (const Link* link = gpu.link.load(std::memory_order_acquire)) update_hold(gpu, *link, now);
  return kNothingAnnounced;
}

void high_share(Gpu& gpu, std::uint64_t now) noexcept {
  Locked lock(gpu.high.lock);
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return;
  Holding& own = gpu.high.holding;
  note_startup(gpu, *link, now);
  const std::uint64_t patience = patience_ns(*link);
  if (own.starting) {
    // update_hold() decides
  } else if (patience == 0 || gpu.high.progress.unseen_ns(now) <= gpu.high.progress.limit_ns(patience)) {
    own.sharing = false;
  } else if (now >= own.slice_ends) {
    own.sharing = !own.sharing;
    own.slice_ends = now + kSliceNs;
  }
  update_hold(gpu, *link, now);
  mend(gpu, *link, now);
}

namespace {

void say(Said what) noexcept {
  said.store(what, std::memory_order_relaxed);
  if (decided_role.load(std::memory_order_relaxed) != Role::kHigh) return;
  for (std::uint32_t i = 0; i < gpu_count(); ++i) {
    Gpu& gpu = gpu_at(i);
    Locked lock(gpu.high.lock);
    const std::uint64_t now = now_ns();
    if (what == Said::kStarts) gpu.high.startup.begin();
    else gpu.high.startup.end();
    const Link* link = gpu.link.load(std::memory_order_acquire);
    if (!link) continue;
    gpu.high.progress.start_again(now);
    note_startup(gpu, *link, now);
    update_hold(gpu, *link, now);
  }
}

}  // namespace

bool high_has_served(Gpu& gpu) noexcept {
  Locked lock(gpu.high.lock);
  const Link* link = gpu.link.load(std::memory_order_acquire);
  return link && !starts_up(gpu.high, *link);
}

void high_starts() noexcept { say(Said::kStarts); }
void high_serves() noexcept { say(Said::kServes); }

Link* stop_holding(Gpu& gpu, std::uint64_t now) noexcept {
  Locked lock(several_gpus);
  Link* link = gpu.link.exchange(nullptr, std::memory_order_acq_rel);
  if (link) let_others_go(*link, now);
  return link;
}

void high_beat(Gpu& gpu) noexcept {
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return;
  const std::uint64_t us = gpu.high.longest_ns.load(std::memory_order_relaxed) / 1000;
  const auto longest_us = static_cast<std::uint32_t>(std::min<std::uint64_t>(us, ~0u));
  each_hold(*link, [&](protocol::HoldPage& page, std::uint32_t) {
    auto& own = page.high[link->slot];
    own.beats.fetch_add(1, std::memory_order_relaxed);
    own.longestUs.store(longest_us, std::memory_order_relaxed);
  });
}

void forget_holding() noexcept { several_gpus.unlock(); }

void high_republish(Gpu& gpu) noexcept {
  Locked lock(gpu.high.lock);
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return;
  gpu.high.holding.held = false;
  link->high().starting.store(gpu.high.holding.starting ? 1 : 0, std::memory_order_relaxed);
  update_hold(gpu, *link, now_ns());
  if (gpu.high.busy_streams > 0) link->high().busySince.store(gpu.high.burst_start, std::memory_order_relaxed);
}

}  // namespace cotenant
