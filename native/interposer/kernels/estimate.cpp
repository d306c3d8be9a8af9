#include "interposer/kernels/estimate.h"

#include <sched.h>

#include <algorithm>

#include "interposer/base/clock.h"
#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"

namespace cotenant {
namespace {

constexpr std::uint32_t kAlwaysTimed = 3;
constexpr std::uint32_t kDropsBeforeDoubt = 16;
constexpr std::uint32_t kDropsWhileUnknown =
    3;  // a kernel that seems longer than it is is better than one of any length
constexpr std::uint32_t kPeakFactor = 4;
constexpr std::uint32_t kMinPeakNs = 20'000;
constexpr std::uint32_t kPeaksOfAPhase = 3;
constexpr std::uint64_t kPhaseNs = 10'000'000'000;  // the memory of a phase
constexpr std::uint32_t kSoon = 4;  // sightings
constexpr std::uint32_t kSeldom = 100'000;  // under rules that ask for samples less often nothing depends on durations

// Budgets use a high quantile (about p95): the largest of eight samples, without one outlier once there are enough.
void add_sample(Estimate& estimate, std::uint32_t ns) noexcept {
  const std::uint32_t count = estimate.samples.load(std::memory_order_relaxed);
  estimate.recent_ns[count % Estimate::kSamples].store(ns, std::memory_order_relaxed);
  estimate.samples.store(count + 1, std::memory_order_relaxed);
  std::uint32_t sorted[Estimate::kSamples];
  const std::uint32_t have = std::min(count + 1, Estimate::kSamples);
  for (std::uint32_t i = 0; i < have; ++i) sorted[i] = estimate.recent_ns[i].load(std::memory_order_relaxed);
  std::sort(sorted, sorted + have);
  const std::uint32_t high = have >= 4 ? sorted[have - 2] : sorted[have - 1];
  estimate.typical_ns.store(sorted[have / 2], std::memory_order_relaxed);
  estimate.expected_ns.store(std::max(high, 1u), std::memory_order_relaxed);
}

// A program queues hundreds of launches. When a sample shows that they take longer than estimated, it is too late for preemption points
// between them. So a phase is remembered until it comes again. Samples beside requests count, too: with so deep a queue a
// request comes between the launch and its end nearly always.
void note_peak(Estimate& estimate, std::uint32_t ns, std::uint64_t now) noexcept {
  const std::uint32_t typical = estimate.typical_ns.load(std::memory_order_relaxed);
  std::uint32_t phase = estimate.phase_ns.load(std::memory_order_relaxed);
  if (phase > 0 && now >= estimate.phase_until_ns.load(std::memory_order_relaxed)) phase = 0;
  const bool is_longer = typical > 0 && ns >= kMinPeakNs && ns / kPeakFactor >= typical;
  std::uint32_t row = 0;
  if (is_longer || (phase > 0 && ns >= phase / 2)) {
    row = estimate.peaks.load(std::memory_order_relaxed) + 1;
    const std::uint32_t least = row == 1 ? ns : std::min(ns, estimate.least_peak_ns.load(std::memory_order_relaxed));
    estimate.least_peak_ns.store(least, std::memory_order_relaxed);
    if (row >= kPeaksOfAPhase) {
      phase = least;
      estimate.phase_until_ns.store(now + kPhaseNs, std::memory_order_relaxed);
    }
  }
  estimate.peaks.store(row, std::memory_order_relaxed);
  estimate.phase_ns.store(phase, std::memory_order_relaxed);
  estimate.peak_ns.store(row == 0 ? phase : std::max(ns, phase), std::memory_order_relaxed);
}

}  // namespace

Estimate* Estimates::find(const LaunchShape& shape) noexcept {
  if (Estimate* exact = entries_.find_or_add(shape.key(), kExact).place) return exact;
  return of_any_shape(shape.function);
}

Estimate* Estimates::of_any_shape(cu::CUfunction function) noexcept {
  const std::uint64_t key = LaunchShape{function, {}}.key();
  Estimate* any = entries_.find_or_add(key, kMaxUsed).place;
  return any ? any : start_over(key);
}

// A thread that still has an entry may count one sample for another kernel.
Estimate* Estimates::start_over(std::uint64_t key) noexcept {
  if (starting_over_.exchange(true, std::memory_order_acquire)) return nullptr;
  entries_.clear([&](const Estimate* first, std::size_t count) { forget(first, count); });
  Estimate* any = entries_.find_or_add(key, kMaxUsed).place;
  starting_over_.store(false, std::memory_order_release);
  return any;
}

bool Estimates::first_launch(cu::CUfunction function) noexcept {
  Estimate* kernel = of_any_shape(function);
  return kernel && !kernel->launched.exchange(true, std::memory_order_relaxed);
}

std::uint32_t Estimates::expected_ns(const LaunchShape& shape) noexcept {
  const Estimate* estimate = entries_.find(shape.key());
  return estimate ? estimate->expected_ns.load(std::memory_order_relaxed) : 0;
}

std::uint32_t Estimates::shortest_ns(const LaunchShape& shape) noexcept {
  const Estimate* estimate = entries_.find(shape.key());
  return estimate ? estimate->shortest_ns() : 0;
}

void Estimates::forget(const LaunchShape& shape) noexcept {
  Estimate* estimate = entries_.find(shape.key());
  if (!estimate) return;
  estimate->sightings.store(0, std::memory_order_relaxed);
  estimate->samples.store(0, std::memory_order_relaxed);
  estimate->expected_ns.store(0, std::memory_order_relaxed);
  estimate->phase_ns.store(0, std::memory_order_relaxed);
  estimate->peak_ns.store(0, std::memory_order_relaxed);
}

void Estimates::forget(const Estimate* first, std::size_t count) noexcept {
  const auto times_one = [&](const Timer& timer) {
    const Estimate* of = timer.of.load(std::memory_order_relaxed);
    return of >= first && of < first + count;
  };
  for (auto& timer : timers_) {
    // Another thread checks this timer and will finish soon.
    for (int state = Timer::kRunning; state != Timer::kFree && times_one(timer);) {
      state = Timer::kRunning;
      if (timer.state.compare_exchange_weak(state, Timer::kFree, std::memory_order_acq_rel)) break;
      if (state == Timer::kTaken) sched_yield();
    }
  }
}

bool Estimates::due(Estimate& estimate, std::uint32_t every) noexcept {
  const std::uint32_t sighting = estimate.sightings.fetch_add(1, std::memory_order_relaxed);
  const bool few = estimate.samples.load(std::memory_order_relaxed) < kAlwaysTimed;
  // A sample disturbed by a request is repeated. Beside many requests a long kernel hardly ever gets an undisturbed
  // sample. Without the repetition, the duration of the shape with former data would stay valid for a thousand
  // launches.
  const bool again = few || estimate.dropped.load(std::memory_order_relaxed) > 0;
  return sighting % every == 0 || (few && sighting < kAlwaysTimed) ||
         (again && every < kSeldom && sighting % kSoon == 0);
}

int Estimates::start(Estimate& estimate, cu::CUstream stream, cu::CUcontext context, std::uint64_t activations,
                     Estimate* also, Estimate* named) noexcept {
  const auto first = static_cast<int>(next_.fetch_add(1, std::memory_order_relaxed) % kTimers);
  Timer& timer = timers_[first];
  int free = Timer::kFree;
  if (!timer.state.compare_exchange_strong(free, Timer::kTaken, std::memory_order_acquire)) return -1;
  if (timer.context.load(std::memory_order_relaxed) !=
      context) {  // an event belongs to a context: events of an old context are destroyed with it
    timer.context.store(context, std::memory_order_relaxed);
    timer.start = timer.end = nullptr;
  }
  const BesideCaptures beside;
  const bool ready = (timer.start || real().cuEventCreate(&timer.start, 0) == cu::CUDA_SUCCESS) &&
                     (timer.end || real().cuEventCreate(&timer.end, 0) == cu::CUDA_SUCCESS) &&
                     real().cuEventRecord(timer.start, stream) == cu::CUDA_SUCCESS;
  if (!ready) {
    timer.state.store(Timer::kFree, std::memory_order_release);
    return -1;
  }
  timer.of.store(&estimate, std::memory_order_relaxed);
  timer.also = also == &estimate ? nullptr : also;
  timer.named = named;
  timer.activations = activations;
  return first;
}

void Estimates::stop(int index, cu::CUstream stream) noexcept {
  Timer& timer = timers_[index];
  const bool recorded =
      real().cuEventRecord(timer.end, stream) == cu::CUDA_SUCCESS && timer.context.load(std::memory_order_relaxed);
  timer.state.store(recorded ? Timer::kRunning : Timer::kFree, std::memory_order_release);
}

void Estimates::context_ends(cu::CUcontext context) noexcept {
  for (auto& timer : timers_) {
    cu::CUcontext of = context;
    int running = Timer::kRunning;
    // A thread that has claimed the timer notices that when it gives the timer back.
    if (timer.context.compare_exchange_strong(of, nullptr, std::memory_order_relaxed))
      timer.state.compare_exchange_strong(running, Timer::kFree, std::memory_order_acq_rel);
  }
}

void Estimates::collect(std::uint64_t activations, bool active, cu::CUcontext context) noexcept {
  int not_yet = 0;  // each question to the driver costs half a microsecond: a few at a time
  for (auto& timer : timers_) {
    int running = Timer::kRunning;
    if (not_yet >= 2) return;
    const auto is_here = [&] { return timer.context.load(std::memory_order_relaxed) == context; };
    if (!is_here() || timer.state.load(std::memory_order_relaxed) != Timer::kRunning) continue;
    if (!timer.state.compare_exchange_strong(running, Timer::kTaken, std::memory_order_acquire)) continue;
    const BesideCaptures beside;
    if (!is_here()) {  // it was used for another meanwhile
      timer.state.store(Timer::kRunning, std::memory_order_release);
      continue;
    }
    if (real().cuEventQuery(timer.end) != cu::CUDA_SUCCESS) {
      timer.state.store(Timer::kRunning, std::memory_order_release);
      ++not_yet;
      continue;
    }
    float ms = 0;
    Estimate& estimate = *timer.of.load(std::memory_order_relaxed);
    if (real().cuEventElapsedTime(&ms, timer.start, timer.end) == cu::CUDA_SUCCESS && ms >= 0 && ms < 4000) {
      const bool clean = !active && activations == timer.activations;
      const bool unknown = estimate.samples.load(std::memory_order_relaxed) == 0;
      const std::uint32_t patience = unknown ? kDropsWhileUnknown : kDropsBeforeDoubt;
      const bool take = clean || estimate.dropped.load(std::memory_order_relaxed) >= patience;
      const auto ns = static_cast<std::uint32_t>(ms * 1e6f);
      note_peak(estimate, ns, now_ns());
      if (take) add_sample(estimate, ns);
      for (Estimate* other : {timer.also, timer.named})
        if (take && other) add_sample(*other, ns);
      if (take) estimate.dropped.store(0, std::memory_order_relaxed);
      else estimate.dropped.fetch_add(1, std::memory_order_relaxed);
    }
    timer.state.store(Timer::kFree, std::memory_order_release);
  }
}

}  // namespace cotenant
