// Log-spaced buckets, the same arithmetic as src/protocol/histogram.ts: 128 linear steps in each octave
// of microseconds, so a bucket is at most 1/128 = 0.78 % wide. Under 1 us: the first; over 67 s: the last.
#pragma once

#include <cstdint>

#include "generated/protocol.h"

namespace cotenant {

inline constexpr std::uint32_t kBuckets = protocol::OCTAVES * protocol::BUCKETS_PER_OCTAVE;

[[nodiscard]] constexpr std::uint32_t bucket_of(std::uint64_t ns) noexcept {
  constexpr std::uint64_t kSteps = protocol::BUCKETS_PER_OCTAVE;
  // In units of 1/128 us. Durations over 2^50 ns (13 days) would overflow the product; they fall into the last bucket.
  if (ns >> 50) return kBuckets - 1;
  const std::uint64_t fine = ns * kSteps / 1000;
  if (fine < kSteps) return 0;
  const auto octave = static_cast<std::uint32_t>(63 - __builtin_clzll(fine / kSteps));
  const auto step = static_cast<std::uint32_t>((fine >> octave) - kSteps);
  const auto bucket = octave * protocol::BUCKETS_PER_OCTAVE + step;
  return bucket < kBuckets ? bucket : kBuckets - 1;
}

// The longest duration that falls into it.
[[nodiscard]] constexpr std::uint64_t top_of(std::uint32_t bucket) noexcept {
  constexpr std::uint64_t kSteps = protocol::BUCKETS_PER_OCTAVE;
  return ((kSteps + bucket % kSteps + 1) << bucket / kSteps) * 1000 / kSteps;
}

}  // namespace cotenant
