// The GPUs, contexts and streams that this process uses, each found by the driver's handle. Entries are in fixed pools
// and last as long as the process, so nothing is allocated on a launch and pointers to them stay valid.
#pragma once

#include <atomic>
#include <cstdint>

#include "driver/abi.h"
#include "interposer/agent/link.h"
#include "interposer/state/best_effort_state.h"
#include "interposer/state/high_state.h"
#include "interposer/state/pages.h"
#include "interposer/state/streams.h"

namespace cotenant {

struct Context;

// The process has moved to another GPU (parking/parking.cpp), whose agent is to have it as a client before it goes on. The
// parking thread asks, and the helper thread deals with it.
enum class Moved : std::uint8_t { kNo, kAsked, kKnocks };

struct Gpu {
  GpuIdentity identity{};
  std::atomic<Moved> moved{Moved::kNo};
  Uuid moves_to;  // from kAsked on
  std::atomic<Link*> link{nullptr};
  std::uint64_t knocked{0};  // for the helper thread: when it last asked for an agent,
  Knock knock;  // and the request that is not answered yet
  std::atomic<bool> awaited{false};  // the user was told that the agent is busy
  std::uint64_t descriptors_seen{0};  // for the helper thread: when it last looked whether the program has closed some
  // Only the helper thread uses this: the agent names this GPU, which other ranks of the job use (high/job.h).
  bool wanted{false};
  // Also of such a GPU: 1 more than the slot of a client whose steps this process observes; 0: none does.
  std::atomic<std::uint32_t> follower{0};
  HighGpu high;
  BestEffortGpu best_effort;
};

struct Context {
  std::atomic<cu::CUcontext> handle{nullptr};
  std::atomic<bool> ended{false};  // destroyed; the entry waits for another
  std::atomic<bool> primary{false};  // of its device
  Published<Gpu*> gpu{nullptr};
  std::atomic<Stream*> legacy{nullptr};
  std::atomic<std::uint32_t> blocking_streams{0};  // the legacy one included
  std::atomic<const void*> blocking_thread{
      nullptr};  // the first thread that submitted best-effort work to blocking streams
  std::atomic<bool> blocking_threads{false};  // another thread has done so, too
  ContextPages pages;  // best-effort: our pages as the GPU sees them
  std::atomic<std::uint64_t> busy[kStreams / 64]{};  // high: a bit for each busy stream, by its index (high/snapshot.h)
  std::atomic<bool> presumed{false};  // high: some stream's work counts as done although nobody has shown that
  std::atomic<std::uint32_t*> words{nullptr};  // high: sequence words (high/words.h); never unmapped
  std::atomic<cu::CUdeviceptr> words_device{0};  // where the GPU finds them; 0: not registered in this context yet
};

// The number of contexts at one time.
inline constexpr std::uint32_t kContexts = 1024;

[[nodiscard]] Context* context_of(cu::CUcontext handle) noexcept;  // null when not seen

// Add a device, a GPU that the process does not use, and a context. Null: the pool is full.
[[nodiscard]] Gpu* add_gpu(cu::CUdevice device) noexcept;
[[nodiscard]] Gpu* add_gpu_to_hold(const Uuid& uuid) noexcept;
Context* add_context(cu::CUcontext handle, Gpu& gpu) noexcept;

// The one GPU that a best-effort process works on (lifetime/gang.h); null: it has not chosen yet.
extern std::atomic<Gpu*> own_gpu;
// own_gpu, or else the GPU that the process will work on, together with its link. Null: none.
[[nodiscard]] Gpu* gpu_at_work() noexcept;
[[nodiscard]] const Link* own_link() noexcept;
[[nodiscard]] Gpu* gpu_of_device(cu::CUdevice device) noexcept;  // null: it has had no context there

// This is its device's primary context; null: none has been seen.
void primary_retained(cu::CUcontext handle) noexcept;
[[nodiscard]] cu::CUcontext primary_context(cu::CUdevice device) noexcept;

// For the helper thread: GPUs in use.
[[nodiscard]] std::uint32_t gpu_count() noexcept;
[[nodiscard]] Gpu& gpu_at(std::uint32_t index) noexcept;

// In a forked child: resets everything, as if the process had never used a GPU.
void forget_gpus() noexcept;

}  // namespace cotenant
