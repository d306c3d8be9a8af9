#include "interposer/best_effort/outstanding.h"

#include <algorithm>

#include "gate/hold.h"
#include "interposer/best_effort/chunk_log.h"
#include "interposer/best_effort/marks.h"
#include "interposer/best_effort/standstill.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

// The agent looks every millisecond while there are several best-effort clients. Without it nobody gives turns.
constexpr std::uint64_t kAgentGoneNs = 1'000'000'000;

// False for a time read from shared memory that is more than a second ahead of `now`: the memory is damaged, and the value
// must not delay anybody.
bool is_plausible(std::uint64_t moment, std::uint64_t now) noexcept { return moment < now + 1'000'000'000; }

// Since the oldest burst of the high clients in `active` began. A time that cannot be is taken for long ago.
std::uint64_t active_us(const protocol::HoldPage& page, std::uint64_t active, std::uint64_t now) noexcept {
  std::uint64_t longest = 0;
  for (; active != 0; active &= active - 1) {
    const std::uint64_t since = page.high[__builtin_ctzll(active)].burstSince.load(std::memory_order_relaxed);
    const std::uint64_t lasted = now > since ? now - since : is_plausible(since, now) ? 0 : ~0ull;
    longest = std::max(longest, lasted);
  }
  return longest / 1000;
}

// A request waits for a chunk of each stream that has work. A few streams run side by side.
constexpr std::uint32_t kFewStreams = 4;

// The work that no mark shows to be done before the program launches into this stream again.
void count_unmarked(const Stream& stream, Outstanding& out) noexcept {
  const Lane& lane = stream.lane;
  if (!lane.open.load(std::memory_order_relaxed) || !takes_own_marks_only(stream)) return;
  const std::uint32_t last = lane.borders.load(std::memory_order_relaxed);
  const std::uint64_t ns = std::max(lane.finished_ns.load(std::memory_order_relaxed),
                                    lane.ring_ns[last % Lane::kRing].load(std::memory_order_relaxed));
  const std::uint64_t launches = std::max(lane.finished_launches.load(std::memory_order_relaxed),
                                          lane.ring_launches[last % Lane::kRing].load(std::memory_order_relaxed));
  out.unmarked_ns += lane.submitted_ns.load(std::memory_order_relaxed) - ns;
  out.unmarked_launches += lane.launches.load(std::memory_order_relaxed) - launches;
}

}  // namespace

GateView best_effort_view(Gpu& gpu, const Link& link, std::uint64_t now) noexcept {
  const auto& roster = link.region->roster;
  const auto& page = link.hold_page();
  const std::uint64_t idle_since = page.idleSince.load(std::memory_order_relaxed);
  const std::uint32_t kernel = page.highKernel.load(std::memory_order_relaxed);
  const Outstanding out = best_effort_outstanding(gpu);
  GateView seen{};
  seen.high_registered = roster.registered.load(std::memory_order_relaxed) != 0;
  const std::uint64_t active = page.active.load(std::memory_order_seq_cst);
  seen.high_active = active != 0;
  seen.active_us = active_us(page, active, now);
  seen.high_class = static_cast<KernelClass>(std::min(kernel >> 16, 2u));
  const std::uint32_t high_sms = kernel & 0xffff;
  if (high_sms != 0 && high_sms < gpu.identity.sm_count) seen.high_leaves_sms = gpu.identity.sm_count - high_sms;
  seen.high_left_us = page.highKernelUs.load(std::memory_order_relaxed);
  seen.spent_us = gpu.best_effort.spent_us.load(std::memory_order_relaxed);
  const std::uint64_t due = gpu.best_effort.due_ns.load(std::memory_order_relaxed);
  seen.early_ns = due > now ? due - now : 0;
  seen.idle_us = now > idle_since ? (now - idle_since) / 1000 : is_plausible(idle_since, now) ? 0 : ~0u;
  seen.my_turn = has_turn(link.slot, who_waits(link, now), roster.turn.load(std::memory_order_relaxed));
  seen.ahead_us = (out.ns - std::min(out.ns, out.unmarked_ns) + 999) / 1000;
  seen.kernels_out = static_cast<std::uint32_t>(out.launches - std::min(out.launches, out.unmarked_launches));
  return seen;
}

std::uint32_t who_waits(const Link& link, std::uint64_t now) noexcept {
  const auto& roster = link.region->roster;
  const std::uint32_t waiting = roster.waiting.load(std::memory_order_relaxed);
  const std::uint64_t looked = roster.lookedAt.load(std::memory_order_relaxed);
  return now > looked && now - looked > kAgentGoneNs ? 0 : waiting;
}

Outstanding best_effort_outstanding(Gpu& gpu) noexcept {
  Outstanding out{};
  std::uint32_t working = 0;
  const Link* link = gpu.link.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    Stream& stream = stream_at(i);
    if (stream.context->gpu != &gpu) continue;
    if (link) read_mark(stream, *link);
    const Lane& lane = stream.lane;
    if (lane.stands.load(std::memory_order_relaxed)) {
      out.standing_ns += unfinished_ns(lane);
      out.stands = true;
      continue;
    }
    out.ns += unfinished_ns(lane);
    const std::uint64_t done = lane.finished_launches.load(std::memory_order_relaxed);
    const std::uint64_t launched = lane.launches.load(std::memory_order_relaxed);
    if (launched > done) out.launches += launched - done;
    working += launched > done ? 1 : 0;
    count_unmarked(stream, out);
  }
  const std::uint32_t parts = std::max((working + kFewStreams - 1) / kFewStreams, 1u);
  gpu.best_effort.chunk_parts.store(parts, std::memory_order_relaxed);
  return out;
}

void best_effort_note_drained(Stream& stream) noexcept {
  Lane& lane = stream.lane;
  lane.finished_ns.store(lane.submitted_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
  lane.finished_launches.store(lane.launches.load(std::memory_order_relaxed), std::memory_order_relaxed);
  lane.chunk_us.store(0, std::memory_order_relaxed);
  lane.chunk_launches.store(0, std::memory_order_relaxed);
  lane.open.store(false, std::memory_order_relaxed);
  note_motion(lane);
  if (chunk_log::is_on()) chunk_log::note(stream, chunk_log::What::kDrained, 0, 0);
  // The next work finds an empty stream, so a preemption point must come before it: it must not start while a request is active.
  lane.behind_wait.store(false, std::memory_order_relaxed);
}

void best_effort_note_drained(const Context& context) noexcept {
  for (std::uint32_t i = 0; i < stream_count(); ++i)
    if (stream_at(i).context == &context) best_effort_note_drained(stream_at(i));
}

}  // namespace cotenant
