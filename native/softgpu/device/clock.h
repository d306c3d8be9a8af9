#pragma once
// The one clock of the software GPU: nanoseconds of CLOCK_MONOTONIC, the same in every process. A plain integer,
// not std::chrono, because times cross shared memory and are packed into atomics.
#include <time.h>

#include <cstdint>

namespace cotenant::soft {

using Nanos = std::uint64_t;

inline constexpr Nanos kMicro = 1'000;
inline constexpr Nanos kMilli = 1'000'000;
inline constexpr Nanos kNever = ~Nanos{0};

inline Nanos now() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Nanos(t.tv_sec) * 1'000'000'000 + Nanos(t.tv_nsec);
}

}  // namespace cotenant::soft
