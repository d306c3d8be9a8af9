// The GPUs, contexts and streams that this process uses, each found by the driver's handle. Entries live
// as long as the process (fixed pools, nothing is allocated on a launch), so a pointer to one stays good.
#pragma once

#include <atomic>
#include <cstdint>

#include "driver/abi.h"
#include "interposer/best_effort/best_effort.h"
#include "interposer/high/high.h"
#include "interposer/agent/link.h"
#include "interposer/state/pages.h"
#include "interposer/base/published.h"
#include "interposer/base/spin.h"

namespace cotenant {

struct Context;

struct Gpu {
  GpuIdentity identity{};
  std::atomic<Link*> link{nullptr};
  std::uint64_t knocked{0};  // the helper thread's: when it last asked for an agent,
  Knock knock;               // and the question that is not answered yet
  HighGpu high;
  BestEffortGpu best_effort;
};

// capture.cpp. What concerns captures of a stream.
struct CaptureState {
  std::atomic<bool> origin{false};          // one began in it, and neither has it ended nor the stream gone
  std::atomic<std::uint32_t> entering{0};   // calls under way that may put the stream into a capture
  std::atomic<std::uint32_t> marking{0};    // other threads' marks under way
};

// streams.cpp. One stream of one context. The two special handles and the NULL stream are streams too: `key` is the
// driver's handle, or one of the special values with the thread it belongs to.
struct Stream {
  std::atomic<std::uintptr_t> key{0};
  std::atomic<bool> gone{false};  // destroyed; the entry waits for another stream
  Published<cu::CUstream> handle;  // what calls of ours are given
  Published<Context*> context;
  Published<bool> blocking;  // ordered with the legacy stream
  std::uint32_t index{0};
  CaptureState capture;
  HighStream high;
  Lane lane;
};

struct Context {
  std::atomic<cu::CUcontext> handle{nullptr};
  std::atomic<bool> ended{false};  // destroyed; the entry waits for another
  std::atomic<bool> primary{false};  // of its device
  Gpu* gpu{nullptr};
  std::atomic<Stream*> legacy{nullptr};
  std::atomic<std::uint32_t> blocking_streams{0};  // the legacy one included
  std::atomic<const void*> blocking_thread{nullptr};  // the first that best-effort work of theirs came from
  std::atomic<bool> blocking_threads{false};          // another one, too
  ContextPages pages;                    // best-effort: our pages as the GPU sees them
  std::atomic<std::uint32_t*> tail_page{nullptr};  // high: a word per stream index, written by the GPU; never unmapped
  std::atomic<cu::CUdeviceptr> tail_device{0};     // where the GPU finds it; 0: not registered in this context yet
};

// At one time. Work in more than that is neither held back nor seen; the first such stream is told of.
inline constexpr std::uint32_t kStreams = 4096;

// How an entry point reads handle 0: plain names mean the legacy stream, _ptds and _ptsz names the
// calling thread's own.
enum class NullStream { kLegacy, kPerThread };

// The stream a call goes to, or null when it cannot be known (no context, pool used up): the call then
// passes without being looked at.
[[nodiscard]] Stream* stream_of(cu::CUstream handle, NullStream meaning) noexcept;

// Whether a stream's handle is one of the special values, and if so whether the calling thread means this
// stream by it (in the right context).
[[nodiscard]] bool is_special(const Stream& stream) noexcept;
[[nodiscard]] bool own_special(const Stream& stream) noexcept;

// All streams seen so far: [0, stream_count()) of stream_at().
[[nodiscard]] std::uint32_t stream_count() noexcept;
[[nodiscard]] Stream& stream_at(std::uint32_t index) noexcept;

// The driver is about to destroy this handle; it may come back as another stream.
void forget_stream(cu::CUstream handle) noexcept;
// The same for all streams of a context that is about to end.
void forget_streams_of(const Context& context) noexcept;
void forget_streams() noexcept;  // in a forked child

[[nodiscard]] Context* context_of(cu::CUcontext handle) noexcept;  // null when not seen
[[nodiscard]] Context* current_context() noexcept;

// The driver made or retained `handle` on `device`: attach to that GPU's agent. A best-effort process attaches to the
// first GPU it has a context on, and to the one it works on. The error to return, else CUDA_SUCCESS.
[[nodiscard]] cu::CUresult context_made(cu::CUcontext handle, cu::CUdevice device) noexcept;

// A best-effort process works on this one: attached before, or now.
[[nodiscard]] cu::CUresult attach_own_gpu(Gpu& gpu) noexcept;
// The GPU that a best-effort process works on, or will, and its link; null: none.
[[nodiscard]] Gpu* gpu_at_work() noexcept;
[[nodiscard]] const Link* own_link() noexcept;
[[nodiscard]] Gpu* gpu_of_device(cu::CUdevice device) noexcept;  // null: it has had no context there

// The driver is about to destroy this context; everything known of it and its streams is void.
void context_ends(cu::CUcontext handle) noexcept;
// This is its device's primary context; null: none has been seen.
void primary_retained(cu::CUcontext handle) noexcept;
[[nodiscard]] cu::CUcontext primary_context(cu::CUdevice device) noexcept;
// The primary context of this device is gone; its handle will be used again for the next one.
void primary_ended(cu::CUdevice device) noexcept;

// For the helper thread: GPUs in use.
[[nodiscard]] std::uint32_t gpu_count() noexcept;
[[nodiscard]] Gpu& gpu_at(std::uint32_t index) noexcept;

// In a forked child: as if this process had never used a GPU.
void forget_gpus() noexcept;

}  // namespace cotenant
