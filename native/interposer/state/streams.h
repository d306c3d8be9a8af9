// The streams of this process, found by the driver's handle without a lock. An entry outlives its stream
// and may serve a later one: its counts then go on from where they were, so that an event or a join that
// still speaks of the old stream speaks of work long done.
#pragma once

#include <atomic>
#include <cstdint>

#include "driver/abi.h"
#include "interposer/base/published.h"
#include "interposer/state/best_effort_state.h"
#include "interposer/state/high_state.h"

namespace cotenant {

struct Context;

// capture.h. What concerns captures of a stream.
struct CaptureState {
  std::atomic<bool> origin{false};          // one began in it, and neither has it ended nor the stream gone
  std::atomic<std::uint32_t> entering{0};   // calls under way that may put the stream into a capture
  std::atomic<std::uint32_t> marking{0};    // other threads' marks under way
};

// One stream of one context. The two special handles and the NULL stream are streams too: `key` is the
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

// The stream that was seen with this handle, which is none of the special values; null: none was.
[[nodiscard]] Stream* known_stream(cu::CUstream handle) noexcept;
void forget_streams() noexcept;  // in a forked child

}  // namespace cotenant
