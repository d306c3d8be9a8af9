#include "interposer/high.h"

#include "gate/histogram.h"
#include "interposer/clock.h"
#include "interposer/entry.h"
#include "interposer/gpu.h"

namespace cotenant {
namespace {

using protocol::Region;

Gpu& gpu_of(const Stream& stream) noexcept { return *stream.context->gpu; }

// Best-effort work must stand still while a request is active, unless the rules allow finer things.
bool holds_apply(const Region& region) noexcept {
  const auto& rules = region.settings;
  return rules.protect.load(std::memory_order_relaxed) != 0 &&
         rules.whenActive.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(protocol::WhenActive::kWait);
}

void close_holds(Region& region) noexcept {
  for (auto& hold : region.holds.hold) hold.store(1, std::memory_order_seq_cst);
}

// Opens the words of those who may run now: whose turn it is, or all where contexts run side by side.
void open_holds(Region& region) noexcept {
  const auto& rules = region.settings;
  if (rules.paused.load(std::memory_order_relaxed) || rules.resumeDelayUs.load(std::memory_order_relaxed)) return;
  const std::uint32_t turn = region.activity.turn.load(std::memory_order_relaxed);
  const bool turns = rules.isolated.load(std::memory_order_relaxed) != 0;
  for (std::uint32_t i = 0; i < protocol::MAX_BEST_EFFORT; ++i)
    if (!turns || i == turn) region.holds.hold[i].store(0, std::memory_order_seq_cst);
}

void note_launch_ahead(Region& region, protocol::HighSlot& slot) noexcept {
  std::uint64_t ahead = 0;
  for (const auto& other : region.bestEffort)
    if (other.state.load(std::memory_order_relaxed)) ahead += other.releasedNs.load(std::memory_order_relaxed);
  slot.aheadNs.fetch_add(ahead, std::memory_order_relaxed);
  if (ahead > slot.aheadMaxNs.load(std::memory_order_relaxed)) slot.aheadMaxNs.store(ahead, std::memory_order_relaxed);
}

// These two, and what calls them, under the lock of the GPU. Sequentially consistent throughout: activity
// and holds are the two sides of a store-then-look protocol with every other client of the GPU. The look
// after opening catches a request of another client that began in between.
void hold_others(const Link& link) noexcept {
  Region& region = *link.region;
  const std::uint32_t before = region.activity.active.fetch_or(link.bit(), std::memory_order_seq_cst);
  if (holds_apply(region)) close_holds(region);
  if (before == 0) region.activity.activations.fetch_add(1, std::memory_order_relaxed);
}

void let_others_go(const Link& link, std::uint64_t now) noexcept {
  Region& region = *link.region;
  const std::uint32_t left = region.activity.active.fetch_and(~link.bit(), std::memory_order_seq_cst) & ~link.bit();
  if (left != 0) return;
  region.activity.idleSince.store(now, std::memory_order_relaxed);
  open_holds(region);
  if (region.activity.active.load(std::memory_order_seq_cst) != 0 && holds_apply(region)) close_holds(region);
}

void publish_burst(const Gpu& gpu, const Link& link) noexcept {
  hold_others(link);
  link.high().busySince.store(gpu.high.burst_start, std::memory_order_relaxed);
  note_launch_ahead(*link.region, link.high());
}

void activate(Gpu& gpu) noexcept {
  const std::uint64_t now = now_ns();
  gpu.high.burst_start = now;
  gpu.high.waited.burst_begins(now);
  gpu.high.crowded = false;
  gpu.high.announced_until = 0;  // this is what was announced
  if (const Link* link = gpu.link.load(std::memory_order_acquire)) publish_burst(gpu, *link);
}

void deactivate(Gpu& gpu, bool observed, std::uint64_t now) noexcept {
  const std::uint64_t lasted = now - gpu.high.burst_start;
  if (observed) {
    // A slow peak: up at once, down by 1/64 a burst.
    auto& learned = gpu.high.learned_ns;
    learned = lasted > learned ? lasted : learned - (learned - lasted) / 64;
    gpu.high.unobserved = 0;
  }
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return;
  auto& slot = link->high();
  slot.busySince.store(0, std::memory_order_relaxed);
  slot.copyUntil.store(0, std::memory_order_relaxed);
  slot.busyNs.fetch_add(lasted, std::memory_order_relaxed);
  if (observed) {
    const std::uint64_t waited = gpu.high.crowded ? lasted : gpu.high.waited.ns();
    slot.histogram[bucket_of(lasted)].fetch_add(1, std::memory_order_relaxed);
    slot.waits[bucket_of(waited)].fetch_add(1, std::memory_order_relaxed);
    slot.bursts.fetch_add(1, std::memory_order_release);  // last: the agent looks for what is new when this has grown
  } else {
    slot.timeouts.fetch_add(1, std::memory_order_relaxed);
  }
  if (gpu.high.announced_until > now) return;  // the next one is about to arrive: no gap before it
  gpu.high.announced_until = 0;
  let_others_go(*link, now);
}

void mark_busy(Stream& stream) noexcept {
  Gpu& gpu = gpu_of(stream);
  Locked lock(gpu.high.lock);
  if (stream.high.busy.load(std::memory_order_relaxed)) return;
  stream.high.busy.store(true, std::memory_order_seq_cst);
  if (gpu.high.busy_streams++ == 0) activate(gpu);
}

// Under the lock. Ends the stream's busy time if nothing is left, then follows the joins.
void raise(Gpu& gpu, Stream& stream, std::uint64_t upto, bool observed, std::uint64_t now) noexcept {
  HighStream& own = stream.high;
  if (own.begun.load(std::memory_order_relaxed) - own.done > protocol::CROWDED_QUEUE) gpu.high.crowded = true;
  if (upto > own.done) own.done = upto;
  const std::uint64_t copying_out = own.copying_out.load(std::memory_order_relaxed);
  if (copying_out != 0 && own.done >= copying_out) high_copied(stream);
  for (Join& join : own.joins) {
    if (!join.other || join.at > own.done) continue;
    const Join due = join;
    join.other = nullptr;  // before following it: joins may form a ring
    raise(gpu, *due.other, due.upto, observed, now);
  }
  if (!own.busy.load(std::memory_order_relaxed) || own.done != own.begun.load(std::memory_order_seq_cst)) return;
  own.busy.store(false, std::memory_order_seq_cst);
  // A launch that began meanwhile either sees the flag down and takes the lock, or is seen here.
  if (own.done != own.begun.load(std::memory_order_seq_cst)) {
    own.busy.store(true, std::memory_order_seq_cst);
    return;
  }
  if (--gpu.high.busy_streams == 0) deactivate(gpu, observed, now);
}

// The legacy stream and the blocking ones wait for each other's earlier work.
void join_legacy(Stream& stream) noexcept {
  Context& context = *stream.context;
  Stream* legacy = context.legacy.load(std::memory_order_acquire);
  if (!legacy) return;
  if (legacy != &stream) {
    high_join(stream, *legacy, legacy->high.settled.load(std::memory_order_acquire));
    return;
  }
  if (context.blocking_streams.load(std::memory_order_relaxed) < 2) return;
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    Stream& other = stream_at(i);
    if (other.blocking && other.context == &context)
      high_join(stream, other, other.high.settled.load(std::memory_order_acquire));
  }
}

}  // namespace

void high_begin(Stream& stream, Work work) noexcept {
  HighStream& own = stream.high;
  own.begun.fetch_add(1, std::memory_order_seq_cst);
  if (!own.busy.load(std::memory_order_seq_cst)) mark_busy(stream);
  if (const Link* link = gpu_of(stream).link.load(std::memory_order_acquire)) {
    if (work == Work::kLaunch) link->high().launches.fetch_add(1, std::memory_order_relaxed);
    if (work == Work::kCopy) link->high().copies.fetch_add(1, std::memory_order_relaxed);
  }
  if (stream.blocking) join_legacy(stream);
}

void high_settle(Stream& stream) noexcept { stream.high.settled.fetch_add(1, std::memory_order_release); }

void high_observe(Stream& stream, std::uint64_t upto, std::uint64_t since) noexcept {
  if (!stream.high.busy.load(std::memory_order_acquire)) return;
  Gpu& gpu = gpu_of(stream);
  Locked lock(gpu.high.lock);
  const std::uint64_t now = now_ns();
  gpu.high.waited.add(since, now);
  raise(gpu, stream, upto, true, now);
}

void high_observe_unseen(Stream& stream, std::uint64_t upto, std::uint64_t since) noexcept {
  const bool more = stream.high.begun.load(std::memory_order_acquire) != upto;
  high_observe(stream, upto, more ? kDidNotWait : since);
}

void high_asked(Stream& stream) noexcept {
  HighStream& own = stream.high;
  const std::uint64_t begun = own.begun.load(std::memory_order_relaxed);
  if (own.asked.begun.load(std::memory_order_relaxed) == begun) return;
  own.asked.at_ns.store(now_ns(), std::memory_order_relaxed);
  own.asked.begun.store(begun, std::memory_order_release);
}

std::uint64_t high_asked_since(const Stream& stream) noexcept {
  const HighStream& own = stream.high;
  const bool asked = own.asked.begun.load(std::memory_order_acquire) == own.begun.load(std::memory_order_relaxed);
  return asked ? own.asked.at_ns.load(std::memory_order_relaxed) : kDidNotWait;
}

std::uint64_t high_blocked_since(const Stream& stream) noexcept {
  if (!stream.high.busy.load(std::memory_order_relaxed)) return kDidNotWait;
  const std::uint64_t asked = high_asked_since(stream);
  return asked == kDidNotWait ? now_ns() : asked;
}

void high_held_up(Gpu& gpu, std::uint64_t since) noexcept {
  Locked lock(gpu.high.lock);
  if (gpu.high.busy_streams > 0) gpu.high.waited.add(since, now_ns());
}

void high_join(Stream& stream, Stream& other, std::uint64_t upto) noexcept {
  if (&stream == &other || !other.high.busy.load(std::memory_order_relaxed)) return;
  Gpu& gpu = gpu_of(stream);
  if (&gpu != &gpu_of(other)) return;  // another lock; its own observations must do
  const std::uint64_t at = stream.high.begun.load(std::memory_order_relaxed);
  Locked lock(gpu.high.lock);
  Join* chosen = &stream.high.joins[0];
  for (Join& join : stream.high.joins) {
    if (join.other == &other) {  // `other` is not idle before the later count anyway
      join = {&other, at, upto};
      return;
    }
    if (chosen->other && (!join.other || join.at < chosen->at)) chosen = &join;
  }
  *chosen = {&other, at, upto};
}

void high_snapshot(const Context& context, bool blocking_only, Snapshot& into) noexcept {
  into.count = 0;
  for (std::uint32_t i = 0; i < stream_count() && into.count < Snapshot::kMost; ++i) {
    Stream& stream = stream_at(i);
    if (stream.context != &context || (blocking_only && !stream.blocking)) continue;
    if (!stream.high.busy.load(std::memory_order_acquire)) continue;
    into.of[into.count++] = {&stream, stream.high.settled.load(std::memory_order_acquire)};
  }
}

void high_observe(const Snapshot& snapshot, std::uint64_t since) noexcept {
  if (snapshot.count == 0) return;
  Gpu& gpu = gpu_of(*snapshot.of[0].stream);  // of one context, so of one GPU
  Locked lock(gpu.high.lock);
  if (gpu.high.busy_streams == 0) return;
  const std::uint64_t now = now_ns();
  gpu.high.waited.add(since, now);
  for (int i = 0; i < snapshot.count; ++i) raise(gpu, *snapshot.of[i].stream, snapshot.of[i].upto, true, now);
}

void high_give_up(Gpu& gpu) noexcept {
  Locked lock(gpu.high.lock);
  const std::uint64_t now = now_ns();
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    Stream& stream = stream_at(i);
    if (stream.context->gpu == &gpu && stream.high.busy.load(std::memory_order_relaxed))
      raise(gpu, stream, stream.high.begun.load(std::memory_order_relaxed), false, now);
  }
  ++gpu.high.unobserved;
}

void high_republish(Gpu& gpu) noexcept {
  Locked lock(gpu.high.lock);
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return;
  if (gpu.high.busy_streams > 0) publish_burst(gpu, *link);
  else if (gpu.high.announced_until > 0) hold_others(*link);
}

bool high_announce(Gpu& gpu, std::uint64_t until) noexcept {
  Locked lock(gpu.high.lock);
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return false;
  const bool pending = gpu.high.announced_until != 0;
  if (until > gpu.high.announced_until) gpu.high.announced_until = until;
  if (!pending && gpu.high.busy_streams == 0) hold_others(*link);
  return !pending;
}

std::uint32_t high_expire(Gpu& gpu, std::uint64_t now) noexcept {
  Locked lock(gpu.high.lock);
  const std::uint64_t until = gpu.high.announced_until;
  if (until == 0) return kNothingAnnounced;
  if (until > now) return static_cast<std::uint32_t>((until - now) / 1000 + 1);
  gpu.high.announced_until = 0;
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (link && gpu.high.busy_streams == 0) let_others_go(*link, now);
  return kNothingAnnounced;
}

}  // namespace cotenant
