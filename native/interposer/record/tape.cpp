#include "interposer/record/tape.h"

#include <algorithm>

#include "interposer/base/clock.h"
#include "interposer/record/descriptions.h"
#include "interposer/record/file.h"
#include "interposer/record/pools.h"
#include "interposer/record/timing.h"

namespace cotenant::record {
namespace {

constexpr std::uint32_t kAlwaysTimed = 5;
constexpr std::uint64_t kPatienceNs = 200'000'000;

// One in sixteen, at irregular distances, so that they do not coincide with a program's own period.
bool is_timed(std::uint32_t sighting) noexcept {
  return sighting < kAlwaysTimed || (sighting * 0x9e3779b1u) >> 28 == 0;
}

// Called under `tape_lock`. Returns whether this was the first step. The gap is CPU time of the program alone, because
// the recording's own work ends before last_end is set.
bool append(Kind kind, std::uint32_t index, std::uint64_t amount, std::uint64_t at) noexcept {
  if (closed.load(std::memory_order_relaxed)) return false;
  const bool first = tape.steps_seen == 0;
  if (first) tape.began = tape.last_end = at;
  const std::uint64_t gap = at > tape.last_end ? at - tape.last_end : 0;
  tape.steps[tape.steps_seen++ % Tape::kSteps] = {kind, index, amount, at, gap};
  return first;
}

void note_return() noexcept {
  Locked locked(tape_lock);
  tape.last_end = now_ns();
}

Start begin(Kind kind, std::uint32_t index, Durations& timed, std::uint64_t at, cu::CUstream stream,
            std::uint32_t sighting) noexcept {
  if (!is_timed(sighting)) return {at, kind, index, -1};
  return {at, kind, index, start_timer(timed, sighting == 0 ? Quality::kFirst : Quality::kIdle, stream)};
}

// Bounded, because a signal handler that calls exit may have interrupted the thread that holds the lock.
bool lock_soon() noexcept {
  for (const std::uint64_t until = now_ns() + kPatienceNs; now_ns() < until; sched_yield())
    if (tape_lock.try_lock()) return true;
  return false;
}

}  // namespace

Start begin_kernel(const LaunchShape& shape, cu::CUstream stream) noexcept {
  const std::uint64_t at = now_ns();
  const Start nothing{at, Kind::kNothing, 0, -1};
  const bool empty = std::find(shape.of, shape.of + 6, 0u) != shape.of + 6;  // the driver will refuse such a launch
  if (empty || closed.load(std::memory_order_relaxed)) return nothing;
  Kernel* kernel = nullptr;
  std::uint32_t sighting = 0;
  {
    Locked locked(tape_lock);
    kernel = kernel_of(shape);
    if (kernel) sighting = kernel->timed.sightings++;
    else ++tape.lost;
  }
  if (!kernel) return nothing;
  return begin(Kind::kKernel, static_cast<std::uint32_t>(kernel - tape.kernels), kernel->timed, at, stream, sighting);
}

Start begin_graph(cu::CUgraphExec handle, cu::CUstream stream) noexcept {
  const std::uint64_t at = now_ns();
  const Start nothing{at, Kind::kNothing, 0, -1};
  if (closed.load(std::memory_order_relaxed)) return nothing;
  Graph* graph = nullptr;
  std::uint32_t sighting = 0;
  {
    Locked locked(tape_lock);
    graph = graph_of(handle);
    if (graph) sighting = graph->timed.sightings++;
    else ++tape.lost;
  }
  if (!graph) return nothing;
  return begin(Kind::kGraph, static_cast<std::uint32_t>(graph - tape.graphs), graph->timed, at, stream, sighting);
}

void end(const Start& began, cu::CUstream stream, cu::CUresult result) noexcept {
  if (began.timer >= 0) stop_timer(began.timer, stream);
  if (began.kind == Kind::kNothing || result != cu::CUDA_SUCCESS) return;
  const bool is_kernel = began.kind == Kind::kKernel;
  bool first = false;
  bool fresh = false;
  {
    Locked locked(tape_lock);
    first = append(began.kind, began.index, 0, began.at);
    ++(is_kernel ? tape.kernels[began.index].launches : tape.graphs[began.index].launches);
    fresh = is_kernel ? !tape.kernels[began.index].name : !tape.graphs[began.index].described;
  }
  if (first) expect_end();
  if (fresh) {
    describe_device();
    if (is_kernel) describe(tape.kernels[began.index]);
    else describe_kernels_of(tape.graphs[began.index]);
  }
  note_return();
}

void note_copy(Kind kind, std::uint64_t bytes, std::uint64_t at, bool is_wait) noexcept {
  if (closed.load(std::memory_order_relaxed)) return;
  bool first = false;
  {
    Locked locked(tape_lock);
    first = append(kind, 0, bytes, at);
    tape.last_end = now_ns();
  }
  if (first) {
    expect_end();
    describe_device();
  }
  if (is_wait) note_wait(at);
}

void note_wait(std::uint64_t at) noexcept {
  const std::uint64_t now = now_ns();
  if (closed.load(std::memory_order_relaxed)) return;
  {
    Locked locked(tape_lock);
    if (tape.steps_seen == 0) return;  // the program has submitted nothing to wait for
    append(Kind::kWait, 0, now - at, at);
  }
  collect_timers();
  note_return();
}

void graph_ends(cu::CUgraphExec exec) noexcept {
  Locked locked(tape_lock);
  for (std::uint32_t i = 0; i < tape.graphs_used; ++i)
    if (tape.graphs[i].handle == exec) tape.graphs[i].handle = nullptr;
}

void contexts_end() noexcept {
  collect_timers();
  forget_timers();
}

void add_sample(Durations& timed, Quality quality, std::uint32_t ns) noexcept {
  Locked locked(tape_lock);
  if (closed.load(std::memory_order_relaxed) || quality < timed.quality) return;
  if (quality > timed.quality) timed.samples = 0;
  timed.quality = quality;
  timed.ns[timed.samples++ % Durations::kSamples] = ns;
}

const Tape* close_tape() noexcept {
  const bool taken = lock_soon();
  const bool before = closed.exchange(true);
  if (taken) tape_lock.unlock();
  return before || tape.steps_seen == 0 ? nullptr : &tape;
}

void in_child() noexcept {
  tape_lock.unlock();
  if (tape.steps_seen > 0) closed.store(true);
  forget_timers();  // their events are the parent's
  forget_end();
}

}  // namespace cotenant::record
