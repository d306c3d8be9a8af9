// Which variant of a long kernel is launched, for each launch shape (Tally, section 4.3: the transparent profiler).
// The first launches try each variant and the original kernel. Then the fastest of those that stop soon enough is used,
// unless it costs too much.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/base/table.h"
#include "interposer/kernels/estimate.h"

namespace cotenant {

// Persistent workers (as many as fit on the GPU at once, or half as many), slices one after the other, or the original.
enum class VariantKind : int { kAllWorkers, kHalfWorkers, kSlices, kAsItIs };
inline constexpr int kVariantKinds = 4;

struct Tried {
  std::uint64_t ns;  // duration of a launch without other work; 0: not measured
  std::uint64_t
      parts;  // it stops after 1/parts of that (formulas: blocks / workers, or slices); 0: there is no such variant
};

// Pure. `target_ns`: the longest time that stopping should take.
[[nodiscard]] VariantKind choose_variant(const Tried (&tried)[kVariantKinds], std::uint64_t target_ns) noexcept;

// One kernel in one shape.
struct VariantTrial {
  std::atomic<std::uint64_t> key{0};
  std::atomic<std::uint32_t> launches{0};
  std::atomic<std::uint32_t> began{0};  // the launch with which this trial began
  std::atomic<int> chosen{0};  // after the trial, the last time: 1 + the variant; 0: the trial goes on
  std::atomic<std::uint32_t> repeats{0};
  std::atomic<std::uint64_t> again_ns{0};  // when the next repeat is due; 0: the trial goes on
  Estimate of[kVariantKinds];
};

class VariantTrials {
 public:
  // Null: the table is full.
  [[nodiscard]] VariantTrial* find(const LaunchShape& shape) noexcept { return all_.find_or_add(shape.key()).place; }

 private:
  static constexpr std::uint32_t kMaxTrials = 256;  // a power of two
  Table<VariantTrial, kMaxTrials> all_;
};

// Returns the variant for the next launch, and in `trying` whether that launch is to be timed. `usual_ns`: how long launches take
// now in whatever variant; 0: unknown. If that differs much from the trial's result, the trial is repeated. From time to time
// each variant is also timed once more, because a trial may have been disturbed.
[[nodiscard]] VariantKind next_variant(VariantTrial& trial, Tried (&tried)[kVariantKinds], std::uint64_t target_ns,
                                       std::uint64_t usual_ns, std::uint64_t now_ns, bool& trying) noexcept;

}  // namespace cotenant
