#include "interposer/record/timing.h"

#include <algorithm>
#include <atomic>

#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"

namespace cotenant::record {
namespace {

struct Timer {
  enum State : int { kFree, kTaken, kRunning };
  std::atomic<int> state{kFree};
  cu::CUevent start{nullptr};
  cu::CUevent end{nullptr};
  cu::CUcontext context{nullptr};
  Durations* of{nullptr};
  Quality quality{};
};

constexpr int kTimers = 64;
__constinit Timer timers[kTimers]{};
std::atomic<std::uint32_t> next{0};

bool take(Timer& timer, int from) noexcept {
  return timer.state.compare_exchange_strong(from, Timer::kTaken, std::memory_order_acquire);
}

void leave(Timer& timer, int state) noexcept { timer.state.store(state, std::memory_order_release); }

bool begins(Timer& timer, cu::CUstream stream) noexcept {
  const auto& driver = real();
  cu::CUcontext context = nullptr;
  if (driver.cuCtxGetCurrent(&context) != cu::CUDA_SUCCESS || !context) return false;
  if (timer.context != context) {  // events belong to a context; those of an old one are left to it
    timer.context = context;
    timer.start = timer.end = nullptr;
  }
  if (!timer.start && driver.cuEventCreate(&timer.start, 0) != cu::CUDA_SUCCESS) return false;
  if (!timer.end && driver.cuEventCreate(&timer.end, 0) != cu::CUDA_SUCCESS) return false;
  if (timer.quality == Quality::kIdle && driver.cuStreamQuery(stream) == cu::CUDA_ERROR_NOT_READY)
    timer.quality = Quality::kBacklog;
  return driver.cuEventRecord(timer.start, stream) == cu::CUDA_SUCCESS;
}

}  // namespace

int start_timer(Durations& timed, Quality quality, cu::CUstream stream) noexcept {
  collect_timers();
  const auto index = static_cast<int>(next.fetch_add(1, std::memory_order_relaxed) % kTimers);
  Timer& timer = timers[index];
  if (!take(timer, Timer::kFree)) return -1;
  timer.of = &timed;
  timer.quality = quality;
  BesideCaptures beside;
  if (begins(timer, stream)) return index;
  leave(timer, Timer::kFree);
  return -1;
}

void stop_timer(int index, cu::CUstream stream) noexcept {
  Timer& timer = timers[index];
  BesideCaptures beside;
  leave(timer, real().cuEventRecord(timer.end, stream) == cu::CUDA_SUCCESS ? Timer::kRunning : Timer::kFree);
}

void collect_timers() noexcept {
  BesideCaptures beside;
  cu::CUcontext context = nullptr;
  if (real().cuCtxGetCurrent(&context) != cu::CUDA_SUCCESS || !context) return;
  int not_yet = 0;  // each query costs half a microsecond, so only a few are made at a time
  for (Timer& timer : timers) {
    if (not_yet >= 2) return;
    if (timer.state.load(std::memory_order_relaxed) != Timer::kRunning || !take(timer, Timer::kRunning)) continue;
    const cu::CUresult asked = timer.context == context ? real().cuEventQuery(timer.end) : cu::CUDA_ERROR_NOT_READY;
    if (asked == cu::CUDA_ERROR_NOT_READY) {
      if (timer.context == context) ++not_yet;
      leave(timer, Timer::kRunning);
      continue;
    }
    float ms = 0;
    if (asked == cu::CUDA_SUCCESS && real().cuEventElapsedTime(&ms, timer.start, timer.end) == cu::CUDA_SUCCESS &&
        ms >= 0)
      add_sample(*timer.of, timer.quality, static_cast<std::uint32_t>(std::min(ms, 4'000.0f) * 1e6f));
    leave(timer, Timer::kFree);
  }
}

// Timers in use are skipped: the result of a launch in a context that ends does not matter.
void forget_timers() noexcept {
  for (Timer& timer : timers) {
    if (!take(timer, Timer::kRunning) && !take(timer, Timer::kFree)) continue;
    timer.context = nullptr;
    leave(timer, Timer::kFree);
  }
}

}  // namespace cotenant::record
