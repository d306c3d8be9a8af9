// How long kernels run, measured by events around a few launches of each kernel and shape. The first three sightings are
// timed, except the very first launch of a kernel, and then one in this many. A sample during which a request was active is
// dropped and soon repeated, unless no better sample arrives for a long time.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>

#include "driver/abi.h"
#include "interposer/base/table.h"
#include "interposer/kernels/launch_shape.h"

namespace cotenant {

struct Estimate {
  static constexpr std::uint32_t kSamples = 8;
  std::atomic<std::uint64_t> key{0};
  std::atomic<std::uint32_t> sightings{0};
  std::atomic<std::uint32_t> samples{0};  // accepted
  std::atomic<std::uint32_t> dropped{0};  // in a row
  std::atomic<bool> launched{false};  // whether the kernel was launched before, in any shape
  std::atomic<std::uint32_t> expected_ns{0};  // for budgets: a high quantile of the samples
  std::atomic<std::uint32_t> typical_ns{0};  // for statistics: the median of the samples
  std::atomic<std::uint32_t> recent_ns[kSamples]{};
  // A kernel may take far longer in some phases of a program. Preemption points are spaced by this, 0: there was no such phase lately.
  std::atomic<std::uint32_t> peak_ns{0};
  std::atomic<std::uint32_t> peaks{0};  // long samples in a row,
  std::atomic<std::uint32_t> least_peak_ns{0};  // and the shortest of them
  std::atomic<std::uint32_t> phase_ns{0};  // remembered
  std::atomic<std::uint64_t> phase_until_ns{0};  // monotonic

  void clear() noexcept {
    for (auto* number : {&sightings, &samples, &dropped, &expected_ns, &typical_ns, &peak_ns, &peaks, &phase_ns})
      number->store(0, std::memory_order_relaxed);
    launched.store(false, std::memory_order_relaxed);
    key.store(0, std::memory_order_release);
  }

  // The shortest of the recent samples; 0: there are none.
  [[nodiscard]] std::uint32_t shortest_ns() const noexcept {
    std::uint32_t least = 0;
    for (std::uint32_t i = 0; i < kSamples && i < samples.load(std::memory_order_relaxed); ++i) {
      const std::uint32_t ns = recent_ns[i].load(std::memory_order_relaxed);
      if (least == 0 || ns < least) least = ns;
    }
    return least;
  }
};

// A pair of events around one launch. Only the thread that claimed it uses the plain fields; any thread may read the
// atomic ones.
struct Timer {
  enum State : int { kFree, kTaken, kRunning };
  std::atomic<int> state{kFree};
  std::atomic<cu::CUcontext> context{nullptr};  // the owner of the events; null: they are invalid
  std::atomic<Estimate*> of{nullptr};
  cu::CUevent start{nullptr};
  cu::CUevent end{nullptr};
  Estimate* also{nullptr};  // the launch's estimate in general, if `of` is that of one product
  Estimate* named{nullptr};  // the estimate by the kernel's name
  std::uint64_t activations{0};
};

class Estimates {
 public:
  // The estimate of this kernel in this shape, created at its first sighting. A program with thousands of shapes fills the
  // table. Then this is the estimate of the kernel in any shape. A program that loads new kernels without end fills it with
  // these, too. Then all are forgotten, and those still in use are learned again. Null: another thread is doing that.
  [[nodiscard]] Estimate* find(const LaunchShape& shape) noexcept;

  // Expected duration in ns; 0: unknown. Creates no entry.
  [[nodiscard]] std::uint32_t expected_ns(const LaunchShape& shape) noexcept;

  // Shortest duration seen, in ns, which approximates the duration alone on the GPU; 0: unknown. Creates no entry.
  [[nodiscard]] std::uint32_t shortest_ns(const LaunchShape& shape) noexcept;

  // Discards what was learned of this shape.
  void forget(const LaunchShape& shape) noexcept;

  // Whether this is the kernel's first launch in any shape. Also false if there is no space to record it.
  [[nodiscard]] bool first_launch(cu::CUfunction function) noexcept;

  // Counts a sighting, and says whether it should be timed.
  [[nodiscard]] static bool due(Estimate& estimate, std::uint32_t every) noexcept;

  // Begins timing on `stream`; the timer's index, or -1. `also` and `named` get the sample, too.
  [[nodiscard]] int start(Estimate& estimate, cu::CUstream stream, cu::CUcontext context, std::uint64_t activations,
                          Estimate* also, Estimate* named) noexcept;
  void stop(int timer, cu::CUstream stream) noexcept;

  // The owner is about to free these estimates: running timers must not add samples to them.
  void forget(const Estimate* first, std::size_t count) noexcept;

  // The context is about to end, and its events with it. Its handle may be reused.
  void context_ends(cu::CUcontext context) noexcept;

  // Checks one running timer. `activations` and `active` say whether high clients were active meanwhile.
  void collect(std::uint64_t activations, bool active, cu::CUcontext context) noexcept;

 private:
  [[nodiscard]] Estimate* of_any_shape(cu::CUfunction function) noexcept;
  [[nodiscard]] Estimate* start_over(std::uint64_t key) noexcept;

  static constexpr std::uint32_t kEntries = 8192;  // a power of two
  static constexpr std::uint32_t kExact = kEntries / 2;
  static constexpr std::uint32_t kMaxUsed = kEntries / 8 * 7;
  static constexpr int kTimers = 32;
  Table<Estimate, kEntries> entries_;
  std::atomic<bool> starting_over_{false};
  Timer timers_[kTimers];
  std::atomic<std::uint32_t> next_{0};
};

}  // namespace cotenant
