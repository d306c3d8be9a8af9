#include "interposer/parking/closing.h"

#include "interposer/base/clock.h"
#include "interposer/best_effort/outstanding.h"
#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"
#include "interposer/movable/movable.h"
#include "interposer/state/capture.h"
#include "interposer/state/drained.h"

namespace cotenant {
namespace {

std::atomic<std::uint32_t> touching{0};  // calls that are under way
std::atomic<std::uint32_t> waiting{0};  // calls that wait until the client is open
std::atomic<std::uint64_t> first_call{0};  // since when one has waited
constexpr std::uint64_t kServiceWaitsNs = 20'000'000;

// A launch first counts itself and then reads the reasons to stop; this side does it the other way round (both
// sequentially consistent). Launches that wait at the stop are counted in both sums, and the second sum is read later, so
// they are equal only if no launch is in the driver.
bool are_calls_in_driver(const Stop& stop) noexcept {
  const std::uint32_t stopped = stop.callers.load(std::memory_order_seq_cst);
  std::uint32_t launching = 0;
  for (std::uint32_t i = 0; i < stream_count(); ++i)
    launching += stream_at(i).lane.launches_in_call.load(std::memory_order_seq_cst);
  return launching != stopped || touching.load(std::memory_order_seq_cst) != 0;
}

// Covers what the streams' own answers do not: the default streams of other threads.
bool synchronise_contexts(const Gpu& gpu) noexcept {
  const BesideCaptures beside;
  const Context* last = nullptr;
  bool done = true;
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    const Context* context = stream_at(i).context;
    if (context == last || context->gpu != &gpu || context->ended.load(std::memory_order_acquire)) continue;
    last = context;
    cu::CUcontext popped = nullptr;
    if (real().cuCtxPushCurrent_v2(context->handle.load()) != cu::CUDA_SUCCESS) continue;
    done = real().cuCtxSynchronize() == cu::CUDA_SUCCESS && done;
    if (role() == Role::kBestEffort)
      best_effort_note_drained(*context);  // else it would count as held, and make minimum progress
    static_cast<void>(real().cuCtxPopCurrent_v2(&popped));
  }
  return done;
}

bool is_busy(Gpu& gpu) noexcept {
  Locked lock(gpu.high.lock);
  return gpu.high.busy_streams > 0;
}

}  // namespace

void TouchesMemory::begin() noexcept {
  for (;;) {
    touching.fetch_add(1, std::memory_order_seq_cst);
    Gpu* gpu = gpu_at_work();
    if (!gpu || (gpu->best_effort.stop.reasons.load(std::memory_order_seq_cst) & Stop::kMoving) == 0) return;
    touching.fetch_sub(1, std::memory_order_seq_cst);
    std::uint64_t nobody = 0;
    first_call.compare_exchange_strong(nobody, now_ns());
    waiting.fetch_add(1, std::memory_order_seq_cst);
    wait_while_moving(gpu->best_effort.stop);
    waiting.fetch_sub(1, std::memory_order_seq_cst);
  }
}

void TouchesMemory::end() noexcept { touching.fetch_sub(1, std::memory_order_release); }

bool close_for_moving(Gpu& gpu, std::uint64_t within_ns, Reason& reason) noexcept {
  Stop& stop = gpu.best_effort.stop;
  std::uint64_t until = now_ns() + within_ns;
  // A thread that waits here cannot end its capture.
  while (has_open_captures() && now_ns() < until) nap_us(1000);
  until = now_ns() + within_ns;
  stop.until_ns.store(until, std::memory_order_seq_cst);
  stop.reasons.fetch_or(Stop::kMoving, std::memory_order_seq_cst);
  bool quiet = false;
  while (!quiet && !has_open_captures() && now_ns() < until) {
    quiet = !are_calls_in_driver(stop) && is_drained();
    if (!quiet) nap_us(100);
  }
  if (has_open_captures()) give_reason(reason, "it captures a graph");
  else if (!quiet)
    give_reason(reason, "its queued work did not end within %.0f s", static_cast<double>(within_ns) / 1e9);
  else if (!synchronise_contexts(gpu)) give_reason(reason, "its context is damaged by an earlier error");
  else if (stop.until_ns.compare_exchange_strong(until, 0)) return true;
  else give_reason(reason, "its work did not end in time");
  open_after_moving(gpu);
  return false;
}

bool close_if_idle(Gpu& gpu, Reason& reason) noexcept {
  Stop& stop = gpu.best_effort.stop;
  std::uint64_t until = now_ns() + kServiceWaitsNs;
  // A call may not have found out yet that the client was open in between.
  if (waiting.load(std::memory_order_seq_cst) > 0) {
    give_reason(reason, "it is not idle");
    return false;
  }
  first_call.store(0, std::memory_order_relaxed);
  stop.until_ns.store(until, std::memory_order_seq_cst);
  stop.reasons.fetch_or(Stop::kMoving, std::memory_order_seq_cst);
  const bool idle = touching.load(std::memory_order_seq_cst) == 0 && !is_busy(gpu) && !has_open_captures() &&
                    is_drained() && synchronise_contexts(gpu);
  if (idle && first_call.load(std::memory_order_seq_cst) == 0 && stop.until_ns.compare_exchange_strong(until, 0))
    return true;
  give_reason(reason, "it is not idle");
  open_after_moving(gpu);
  return false;
}

std::uint64_t wanted_since() noexcept {
  const std::uint64_t first = first_call.load(std::memory_order_seq_cst);
  return first == 0 && waiting.load(std::memory_order_seq_cst) > 0 ? now_ns() : first;
}

void open_after_moving(Gpu& gpu) noexcept {
  gpu.best_effort.stop.reasons.fetch_and(static_cast<std::uint8_t>(~Stop::kMoving), std::memory_order_seq_cst);
}

void forget_closing() noexcept {
  touching.store(0, std::memory_order_relaxed);
  waiting.store(0, std::memory_order_relaxed);
  first_call.store(0, std::memory_order_relaxed);
}

}  // namespace cotenant
