#include "interposer/parking/process_move.h"

#include <algorithm>

#include "interposer/base/clock.h"
#include "interposer/movable/blocks.h"
#include "interposer/movable/movable.h"
#include "interposer/movable/rdma.h"
#include "interposer/parking/closing.h"
#include "interposer/parking/host_memory.h"
#include "interposer/parking/host_pool.h"
#include "interposer/process/helper_state.h"

namespace cotenant {
namespace {

constexpr std::uint64_t kQueueEndsNs = 10'000'000'000;  // queued work is about 10 ms, but a request may hold it
constexpr std::uint64_t kContextBytes = std::uint64_t{512} << 20;  // contexts, code and libraries of a usual process

double gib(std::uint64_t bytes) noexcept { return static_cast<double>(bytes) / (1 << 30); }

std::uint64_t used_on_gpu(const Link& link) noexcept {
  const std::uint64_t used = link.best_effort().memoryUsed.load(std::memory_order_relaxed);
  return used - std::min(used, bytes_parked());
}

// Checks that the host has room for the driver's copy of the memory that is still on the GPU.
bool has_host_memory(const Link& link, Reason& reason) noexcept {
  const std::uint64_t needed = used_on_gpu(link) + kContextBytes;
  const std::uint64_t limit = environment().park_host;
  const std::uint64_t left = host_memory_left();
  if (limit != 0 && pool_bytes() + needed > limit)
    give_reason(reason, "%.1f GiB of host memory are needed, and --park-host allows %.1f GiB",
                gib(pool_bytes() + needed), gib(limit));
  else if (left < needed)
    give_reason(reason, "%.1f GiB of host memory are needed, and there are %.1f GiB", gib(needed), gib(left));
  else return true;
  return false;
}

// NVIDIA says of its checkpoints that managed memory and memory of several processes are not supported, and that a process may
// not survive an error (README of cuda-checkpoint). So it is not tried.
bool may_take(Reason& reason) noexcept {
  const bool managed = (unmovable_kinds() & static_cast<std::uint32_t>(protocol::Unmovable::kManaged)) != 0;
  if (has_rdma_device()) give_reason(reason, "a network card may write to its memory");
  else if (managed) give_reason(reason, "the driver's checkpoint does not support managed memory, which it has");
  else if (is_given_to_others())
    give_reason(reason, "the driver's checkpoint does not support memory that it shares with another process");
  else return true;
  return false;
}

}  // namespace

bool take_process(Gpu& gpu, const Link& link, bool closed, Reason& reason) noexcept {
  if (!may_take(reason) || !has_host_memory(link, reason)) return false;
  if (!closed && !close_for_moving(gpu, kQueueEndsNs, reason)) return false;
  if (save_process(gpu.identity.uuid, used_on_gpu(link), reason)) return true;
  if (!closed) open_after_moving(gpu);
  return false;
}

bool bring_process(const Gpu& gpu, Reason& reason) noexcept {
  if (!restore_process({gpu.identity.uuid, gpu.identity.uuid}, reason)) return false;
  release_process();
  return true;
}

// Before its calls go on, so that nothing runs there unheld. The helper thread ends this within half a second: with the
// agent's link, or with one in which everything waits.
bool bring_process_to(Gpu& gpu, const Uuid& to, Reason& reason) noexcept {
  const GpuPair pair{gpu.identity.uuid, to};
  if (!restore_process(pair, reason)) return false;
  gpu.moves_to = to;
  gpu.moved.store(Moved::kAsked, std::memory_order_release);
  wake_helper();
  while (gpu.moved.load(std::memory_order_acquire) != Moved::kNo) nap_us(1000);
  release_process();
  return true;
}

}  // namespace cotenant
