// How long a kernel runs, learned while it runs: events around a few launches of each kernel and shape.
// The first three sightings are timed, but for a kernel's very first, then one in so many. A sample during
// which some request was active is dropped and soon taken again, unless nothing better comes for a long time.
#pragma once

#include <atomic>
#include <cstdint>

#include "driver/abi.h"
#include "interposer/base/table.h"
#include "interposer/kernels/launch_shape.h"

namespace cotenant {

struct Estimate {
  static constexpr std::uint32_t kSamples = 8;
  std::atomic<std::uint64_t> key{0};
  std::atomic<std::uint32_t> sightings{0};
  std::atomic<std::uint32_t> samples{0};   // accepted
  std::atomic<std::uint32_t> dropped{0};   // in a row
  std::atomic<bool> launched{false};       // of a kernel in any shape
  std::atomic<std::uint32_t> expected_ns{0};  // what budgets go by: a high quantile of the samples
  std::atomic<std::uint32_t> typical_ns{0};   // what statistics go by: their median
  std::atomic<std::uint32_t> recent_ns[kSamples]{};

  // Of the recent samples; 0: there is none.
  [[nodiscard]] std::uint32_t shortest_ns() const noexcept {
    std::uint32_t least = 0;
    for (std::uint32_t i = 0; i < kSamples && i < samples.load(std::memory_order_relaxed); ++i) {
      const std::uint32_t ns = recent_ns[i].load(std::memory_order_relaxed);
      if (least == 0 || ns < least) least = ns;
    }
    return least;
  }
};

// A pair of events around one launch. Who took it has the plain fields for himself; anybody may look at the others.
struct Timer {
  enum State : int { kFree, kTaken, kRunning };
  std::atomic<int> state{kFree};
  std::atomic<cu::CUcontext> context{nullptr};  // whose the events are; null: they are void
  std::atomic<Estimate*> of{nullptr};
  cu::CUevent start{nullptr};
  cu::CUevent end{nullptr};
  Estimate* also{nullptr};  // what is known of the launch in general, where `of` is of one product
  Estimate* named{nullptr};  // the same by the kernel's name
  std::uint64_t activations{0};
};

class Estimates {
 public:
  // What is known of this kernel in this shape; made at its first sighting. A program with thousands of
  // shapes fills the table: then what is known of the kernel in any shape, and null when even that is too
  // much to keep.
  [[nodiscard]] Estimate* find(const LaunchShape& shape) noexcept;

  // How long it is expected to run, in ns; 0: not known, and nothing is kept of the question.
  [[nodiscard]] std::uint32_t expected_ns(const LaunchShape& shape) noexcept;

  // The shortest that it was seen to run, in ns: what it takes beside nobody. 0: not known, and nothing is kept.
  [[nodiscard]] std::uint32_t shortest_ns(const LaunchShape& shape) noexcept;

  // What was learned of this shape is void.
  void forget(const LaunchShape& shape) noexcept;

  // Is it the first of this kernel, whatever its shape? False also where there is no room to keep it.
  [[nodiscard]] bool first_launch(cu::CUfunction function) noexcept;

  // Counts a sighting, and says whether it should be timed.
  [[nodiscard]] static bool due(Estimate& estimate, std::uint32_t every) noexcept;

  // Begins timing on `stream`; the timer's index, or -1. `also` and `named` get the sample, too.
  [[nodiscard]] int start(Estimate& estimate, cu::CUstream stream, cu::CUcontext context, std::uint64_t activations,
                          Estimate* also, Estimate* named) noexcept;
  void stop(int timer, cu::CUstream stream) noexcept;

  // These estimates, kept by somebody else, go: nothing that is timed now may be added to them.
  void forget(const Estimate* first, std::size_t count) noexcept;

  // The context is about to end, its events with it; its handle may come back.
  void context_ends(cu::CUcontext context) noexcept;

  // Looks at one running timer; `activations` and `active` say what high clients did meanwhile.
  void collect(std::uint64_t activations, bool active, cu::CUcontext context) noexcept;

 private:
  [[nodiscard]] Estimate* of_any_shape(cu::CUfunction function) noexcept;

  static constexpr std::uint32_t kEntries = 8192;  // a power of two
  static constexpr std::uint32_t kExact = kEntries / 2;
  static constexpr std::uint32_t kMost = kEntries / 8 * 7;
  static constexpr int kTimers = 32;
  Table<Estimate, kEntries> entries_;
  Timer timers_[kTimers];
  std::atomic<std::uint32_t> next_{0};
};

}  // namespace cotenant
