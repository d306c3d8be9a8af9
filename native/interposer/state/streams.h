// The streams of this process, found by the driver's handle without a lock. An entry may serve a later stream after its
// own was destroyed. Its counts continue then, so an event or a join that refers to the old stream refers to work that
// is done.
#pragma once

#include <atomic>
#include <cstdint>

#include "driver/abi.h"
#include "interposer/base/published.h"
#include "interposer/state/best_effort_state.h"
#include "interposer/state/high_state.h"

namespace cotenant {

struct Context;

// State of a stream's captures (capture.h).
struct CaptureState {
  std::atomic<bool> origin{false};  // a capture began in it, has not ended, and the stream still exists
  std::atomic<std::uint32_t> entering{0};  // calls under way that may put the stream into a capture
  std::atomic<std::uint32_t> marking{0};  // marks by other threads that are in progress
};

// One stream of one context. The two special handles and the NULL stream are streams too: `key` is the
// driver's handle, or one of the special values with the thread it belongs to.
struct Stream {
  std::atomic<std::uintptr_t> key{0};
  std::atomic<bool> gone{false};  // destroyed; the entry waits for another stream
  Published<cu::CUstream> handle;  // the handle for the interposer's own calls
  Published<Context*> context;
  Published<bool> blocking;  // ordered with the legacy stream
  std::uint32_t index{0};
  bool queued{false};  // among the entries that wait for another stream; guarded by the lock on the streams
  CaptureState capture;
  HighStream high;
  Lane lane;
};

// The number of streams at one time. Work in further streams is neither held back nor observed; the first such stream
// is reported.
inline constexpr std::uint32_t kStreams = 4096;

// The meaning of handle 0 for an entry point: with plain names the legacy stream, with _ptds and _ptsz names the
// calling thread's own stream.
enum class NullStream { kLegacy, kPerThread };

// The stream that a call refers to. Null: it can't be known (no context, or the pool is full). Then the call passes
// unobserved.
[[nodiscard]] Stream* stream_of(cu::CUstream handle, NullStream meaning) noexcept;

// Whether a stream's handle is special, and whether the calling thread in its current context means this stream by it.
[[nodiscard]] bool is_special(const Stream& stream) noexcept;
[[nodiscard]] bool own_special(const Stream& stream) noexcept;

// All streams seen so far are stream_at(0) to stream_at(stream_count() - 1).
[[nodiscard]] std::uint32_t stream_count() noexcept;
[[nodiscard]] Stream& stream_at(std::uint32_t index) noexcept;

// The stream that was seen with this handle, which is none of the special values; null: none was.
[[nodiscard]] Stream* known_stream(cu::CUstream handle) noexcept;
// `gone` has been set, and what is known of the stream is settled: another stream may take the entry.
void stream_is_gone(Stream& stream) noexcept;
void forget_streams() noexcept;  // in a forked child

}  // namespace cotenant
