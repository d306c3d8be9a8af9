#include "interposer/best_effort/standstill.h"

#include <algorithm>

namespace cotenant {
namespace {

// While another best-effort client wants the GPU, a kernel of that client may be the reason, however long it is.
constexpr std::uint64_t kStillBesideOthersNs = 250'000'000;
// If more time passes between two polls, this thread lost its CPU, and what happened in between is unknown.
constexpr std::uint64_t kLongestLookNs = 2'000'000;
// A program may put 800 launches behind a wait: with three entries for each six launches up to here, and for each 32 from here on,
// they fit into a queue of 1,024.
constexpr std::uint64_t kCrowdedEntries = 450;
constexpr std::uint32_t kRareLaunches = 32;  // between two preemption points of a crowded stream

// About how long the work that the GPU is running takes.
std::uint64_t first_chunk_ns(const Lane& lane) noexcept {
  const std::uint32_t passed = lane.passed.load(std::memory_order_relaxed);
  const std::uint64_t finished = lane.finished_ns.load(std::memory_order_relaxed);
  const std::uint64_t upto = passed == lane.borders.load(std::memory_order_relaxed)
                                 ? lane.submitted_ns.load(std::memory_order_relaxed)
                                 : lane.ring_ns[(passed + 1) % Lane::kRing].load(std::memory_order_relaxed);
  return upto > finished ? upto - finished : 0;
}

std::uint32_t borders_out(const Lane& lane) noexcept {
  return lane.borders.load(std::memory_order_relaxed) - lane.passed.load(std::memory_order_relaxed);
}

bool look(Lane& lane, bool held, bool others, std::uint64_t since_ns) noexcept {
  const std::uint64_t at =
      lane.finished_launches.load(std::memory_order_relaxed) << 32 | lane.passed.load(std::memory_order_relaxed);
  const bool stood = lane.stands.load(std::memory_order_relaxed);
  const bool empty =
      lane.finished_launches.load(std::memory_order_relaxed) >= lane.launches.load(std::memory_order_relaxed);
  if (empty || at != lane.still_at) {
    lane.still_at = at;
    if (stood || lane.still_ns.load(std::memory_order_relaxed) != 0) note_motion(lane);
    return stood;
  }
  if (held) return false;
  const std::uint64_t still = lane.still_ns.load(std::memory_order_relaxed) + std::min(since_ns, kLongestLookNs);
  lane.still_ns.store(still, std::memory_order_relaxed);
  if (stood || still < (others ? kStillBesideOthersNs : kStillNs) + 2 * first_chunk_ns(lane)) return false;
  lane.stands.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace

bool is_crowded(const Lane& lane) noexcept {
  const std::uint64_t launches = lane.launches.load(std::memory_order_relaxed);
  const std::uint64_t out = launches - std::min(launches, lane.finished_launches.load(std::memory_order_relaxed));
  return queue_entries(lane, out) >= kCrowdedEntries || borders_out(lane) >= Lane::kRing / 2;
}

bool borders_are_rare(const Lane& lane, std::uint32_t chunk_launches) noexcept {
  return is_crowded(lane) && (chunk_launches < kRareLaunches || borders_out(lane) >= Lane::kRing - 1);
}

void note_motion(Lane& lane) noexcept {
  lane.still_ns.store(0, std::memory_order_relaxed);
  lane.stands.store(false, std::memory_order_relaxed);
}

bool look_for_standstill(Gpu& gpu, bool held, bool others, std::uint64_t now) noexcept {
  BestEffortGpu& own = gpu.best_effort;
  const std::uint64_t since = own.standstill_looked ? now - own.standstill_looked : 0;
  const bool was_held = own.standstill_held;
  own.standstill_looked = now;
  own.standstill_held = held;
  bool changed = false;
  for (std::uint32_t i = 0; i < stream_count(); ++i)
    if (stream_at(i).context->gpu == &gpu)
      changed = look(stream_at(i).lane, held || was_held, others, since) || changed;
  return changed;
}

}  // namespace cotenant
