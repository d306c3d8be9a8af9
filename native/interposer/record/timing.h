// Pairs of events around some launches.
#pragma once

#include "interposer/record/tape.h"

namespace cotenant::record {

// The timer's index, or -1.
[[nodiscard]] int start_timer(Durations& timed, Quality quality, cu::CUstream stream) noexcept;
void stop_timer(int timer, cu::CUstream stream) noexcept;
void collect_timers() noexcept;
void forget_timers() noexcept;

}  // namespace cotenant::record
