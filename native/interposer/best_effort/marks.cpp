#include "interposer/best_effort/marks.h"

#include "interposer/best_effort/border.h"
#include "interposer/high/words.h"
#include "interposer/lookup/entry.h"
#include "interposer/state/capture.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

using namespace cu;

// Several threads read marks, and a stream may be noted as drained meanwhile: the numbers only grow.
void raise(std::atomic<std::uint64_t>& number, std::uint64_t to) noexcept {
  std::uint64_t seen = number.load(std::memory_order_relaxed);
  while (to > seen && !number.compare_exchange_weak(seen, to, std::memory_order_relaxed)) {
  }
}

// The GPU has passed this preemption point.
void note_passed(Lane& lane, std::uint32_t number) noexcept {
  lane.passed.store(number, std::memory_order_relaxed);
  raise(lane.finished_ns, lane.ring_ns[number % Lane::kRing].load(std::memory_order_relaxed));
  raise(lane.finished_launches, lane.ring_launches[number % Lane::kRing].load(std::memory_order_relaxed));
}

// Numbers grow and may wrap. A value that is not between the last one seen and the last one issued was left by an
// earlier client of the slot.
bool is_plausible_mark(const Lane& lane, std::uint32_t number) noexcept {
  const std::uint32_t before = lane.passed.load(std::memory_order_relaxed);
  return number - before - 1 < lane.borders.load(std::memory_order_relaxed) - before;
}

CUcontext current_handle() noexcept {
  CUcontext current = nullptr;
  return real().cuCtxGetCurrent(&current) == CUDA_SUCCESS ? current : nullptr;
}

// The special handles mean streams of the current context and the calling thread. Streams of other contexts are left
// out, because their owner may destroy the context during the driver call.
bool is_reachable(const Stream& stream, const Gpu& gpu, CUcontext current) noexcept {
  const Context* context = stream.context;
  return context->gpu == &gpu && context->handle.load(std::memory_order_relaxed) == current &&
         (!is_special(stream) || own_special(stream));
}

void read_events(Stream& stream) noexcept {
  EventMarks& marks = stream.lane.events;
  if (!marks.out.load(std::memory_order_relaxed) || marks.busy.exchange(true, std::memory_order_acquire)) return;
  bool out = false;
  for (int i = 0; i < EventMarks::kEvents; ++i) {
    if (marks.number[i] == 0) continue;
    if (real().cuEventQuery(marks.event[i]) == CUDA_ERROR_NOT_READY) {
      out = true;
      continue;
    }
    if (is_plausible_mark(stream.lane, marks.number[i])) note_passed(stream.lane, marks.number[i]);
    marks.number[i] = 0;
  }
  marks.out.store(out, std::memory_order_relaxed);
  marks.busy.store(false, std::memory_order_release);
}

bool put_word_mark(Stream& stream) noexcept {
  const std::uint32_t number = next_mark(stream);
  CUstreamBatchMemOpParams mark[] = {write_word(mark_address(stream), number)};
  const bool put = real().cuStreamBatchMemOp_v2(stream.handle, 1, mark, 0) == CUDA_SUCCESS;
  note_word_mark(stream, number, put);
  return put;
}

bool put_any_mark(Stream& stream, const Link& link) noexcept {
  const bool by_word = map_pages(*stream.context, link) && mark_address(stream) != 0;
  return by_word ? put_word_mark(stream) : put_event_mark(stream, 0);
}

}  // namespace

CUdeviceptr own_mark_address(const Stream& stream) noexcept {
  return words_work(*stream.context) ? word_address(stream, SequenceWord::kTail) : 0;
}

std::uint32_t next_mark(Stream& stream) noexcept {
  Lane& lane = stream.lane;
  // Before the counts are read: a launch that is counted after that opens the stream again, so that another mark follows it.
  lane.open.store(false, std::memory_order_seq_cst);
  const std::uint32_t number = lane.borders.fetch_add(1, std::memory_order_relaxed) + 1;
  lane.ring_ns[number % Lane::kRing].store(lane.submitted_ns.load(std::memory_order_relaxed),
                                           std::memory_order_relaxed);
  lane.ring_launches[number % Lane::kRing].store(lane.launches.load(std::memory_order_seq_cst),
                                                 std::memory_order_relaxed);
  return number;
}

void note_word_mark(Stream& stream, std::uint32_t number, bool put) noexcept {
  Lane& lane = stream.lane;
  if (!put || lane.borders.load(std::memory_order_seq_cst) != number) lane.open.store(true, std::memory_order_relaxed);
}

bool takes_own_marks_only(const Stream& stream) noexcept {
  const Context& context = *stream.context;
  return stream.blocking && context.legacy.load(std::memory_order_relaxed) == &stream &&
         context.blocking_streams.load(std::memory_order_relaxed) > 1;
}

bool put_mark(Stream& stream, const Link& link) noexcept {
  const bool put = put_any_mark(stream, link);
  if (put) close_chunk(stream, link, false);
  return put;
}

void put_mark_behind(Stream& stream, const Link& link) noexcept { static_cast<void>(put_any_mark(stream, link)); }

bool put_event_mark(Stream& stream, std::uint32_t number) noexcept {
  EventMarks& marks = stream.lane.events;
  if (marks.busy.exchange(true, std::memory_order_acquire)) return false;
  const CUcontext context = stream.context->handle.load(std::memory_order_relaxed);
  if (marks.context != context) {  // an event belongs to a context: events of an old context are destroyed with it
    marks.context = context;
    for (int i = 0; i < EventMarks::kEvents; ++i) marks.event[i] = nullptr, marks.number[i] = 0;
  }
  const BesideCaptures beside;
  bool put = false;
  for (int i = 0; i < EventMarks::kEvents && !put; ++i) {
    if (marks.number[i] != 0) continue;
    const bool made = marks.event[i] || real().cuEventCreate(&marks.event[i], CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
    if (!made) break;
    const std::uint32_t its_number = number ? number : next_mark(stream);
    if (real().cuEventRecord(marks.event[i], stream.handle) != CUDA_SUCCESS) {
      stream.lane.open.store(true, std::memory_order_relaxed);
      break;
    }
    marks.number[i] = its_number;
    marks.out.store(true, std::memory_order_relaxed);
    put = true;
  }
  marks.busy.store(false, std::memory_order_release);
  return put;
}

void mark_open_lanes(const Gpu& gpu, const Link& link) noexcept {
  const CUcontext current = current_handle();
  for (std::uint32_t i = 0; current && i < stream_count(); ++i) {
    Stream& stream = stream_at(i);
    if (!stream.lane.open.load(std::memory_order_relaxed) || takes_own_marks_only(stream)) continue;
    const MarksAnother marks(stream);
    if (marks.is_allowed() && is_reachable(stream, gpu, current)) put_mark(stream, link);
  }
}

void read_mark(Stream& stream, const Link& link) noexcept {
  Lane& lane = stream.lane;
  if (lane.borders.load(std::memory_order_relaxed) == lane.passed.load(std::memory_order_relaxed)) return;
  const std::uint32_t number =
      stream.index < kMarkWords ? last_mark(link, stream.index) : read_word(stream, SequenceWord::kTail);
  if (is_plausible_mark(lane, number)) note_passed(lane, number);
}

void read_event_marks(const Gpu& gpu) noexcept {
  CUcontext current = nullptr;
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    Stream& stream = stream_at(i);
    if (!stream.lane.events.out.load(std::memory_order_relaxed)) continue;
    if (!current) current = current_handle();
    if (!current) return;
    const BesideCaptures beside;
    if (is_reachable(stream, gpu, current)) read_events(stream);
  }
}

void event_marks_end(EventMarks& events) noexcept {
  if (events.busy.exchange(true, std::memory_order_acquire))
    return;  // readers of the events see that the context has changed
  events.context = nullptr;
  for (int i = 0; i < EventMarks::kEvents; ++i) events.event[i] = nullptr, events.number[i] = 0;
  events.out.store(false, std::memory_order_relaxed);
  events.busy.store(false, std::memory_order_release);
}

}  // namespace cotenant
