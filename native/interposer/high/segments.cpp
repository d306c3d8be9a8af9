#include "interposer/high/segments.h"

#include <algorithm>

#include "interposer/base/spin.h"
#include "interposer/high/holding.h"
#include "interposer/state/graph_weights.h"

namespace cotenant {
namespace {

constexpr std::uint64_t kMaxCount = (std::uint64_t{1} << protocol::SEGMENT_NODES_SHIFT) - 1;

void record(protocol::HighSlot& slot, const Segment& segment, std::uint64_t now, std::uint64_t waited,
            bool main) noexcept {
  const std::uint64_t number = slot.segments.load(std::memory_order_relaxed);
  auto* to = &slot.segmentRecords[number % protocol::SEGMENT_RECORDS * protocol::SEGMENT_RECORD_WORDS];
  const std::uint64_t submissions = std::min(segment.submissions, kMaxCount);
  const std::uint64_t nodes = std::min(segment.nodes, kMaxCount);
  to[0].store(segment.begin, std::memory_order_relaxed);
  to[1].store(now, std::memory_order_relaxed);
  to[2].store(waited, std::memory_order_relaxed);
  to[3].store(
      submissions | nodes << protocol::SEGMENT_NODES_SHIFT | std::uint64_t{main} << protocol::SEGMENT_MAIN_SHIFT,
      std::memory_order_relaxed);
  // The agent reads the record when it sees this number.
  slot.segments.store(number + 1, std::memory_order_release);
}

// The most that a stream of the segment has submitted since, which the GPU runs next.
std::uint64_t queued_next(const Segment& segment) noexcept {
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < segment.raised_count; ++i) {
    const HighStream& own = segment.raised[i]->high;
    const std::uint64_t begun = own.begun.load(std::memory_order_relaxed);
    if (own.busy(std::memory_order_relaxed) && begun > own.done) most = std::max(most, begun - own.done);
  }
  return most;
}

// The next submission that makes the coming step old (coRunUntilLaunches) takes the lock.
void attend_at(const Segment& segment, std::uint32_t launches) noexcept {
  for (std::uint32_t i = 0; i < segment.raised_count; ++i) {
    HighStream& own = segment.raised[i]->high;
    const std::uint64_t due = own.done + launches;
    if (own.busy(std::memory_order_relaxed) && own.begun.load(std::memory_order_relaxed) < due)
      own.attend_at.store(due, std::memory_order_relaxed);
  }
}

void start_step(Gpu& gpu, const Link& link, std::uint64_t now) noexcept {
  const Segment& segment = gpu.high.segment;
  const std::uint32_t launches = gpu.high.holding.old_after;
  const std::uint64_t queued = queued_next(segment);
  const bool old = launches != 0 && queued >= launches;
  if (launches != 0 && !old) attend_at(segment, launches);
  hold_step(link, now, old);
}

}  // namespace

void end_segment(Gpu& gpu, std::uint64_t now) noexcept {
  HighGpu& own = gpu.high;
  Segment& segment = own.segment;
  if (segment.submissions == 0) return;
  const bool main = segment.has_main(segment.submissions + segment.nodes);
  const std::uint64_t waited = own.waited.ns();
  if (main) segment.note_main(now - std::min(now, segment.begin));
  if (const Link* link = gpu.link.load(std::memory_order_acquire)) {
    const std::uint64_t earlier = std::min(segment.waited_before, waited);
    record(link->high(), segment, now, own.crowded ? now - std::min(now, segment.begin) : waited - earlier, main);
    if (main && own.busy_streams > 0 && own.holding.held) start_step(gpu, *link, now);
  }
  segment.begins(now, waited);
}

void high_weigh_graph(Stream& stream, const LaunchShape& shape) noexcept {
  const std::uint32_t nodes = graph_weight(shape.key());
  if (nodes == 0) return;
  Locked lock(stream.context->gpu->high.lock);
  stream.high.graphs.add(stream.high.begun.load(std::memory_order_relaxed), nodes);
}

}  // namespace cotenant
