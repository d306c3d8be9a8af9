// The side of a high client: when it is busy. Each stream counts what was submitted. An observed completion says up to
// which count everything is done. The client is busy while some stream has more submitted than done. Submission never
// waits: the fast path is two counters and one flag.
//
// Submissions are counted twice: in `begun` before the driver is called, which makes the client busy, and in `settled`
// after the call has returned. An observation uses `settled` as it was when the observing call began, so it never takes
// a launch that another thread is submitting for finished.
#pragma once

#include <cstdint>

#include "driver/abi.h"
#include "interposer/state/gpu.h"
#include "interposer/state/streams.h"
#include "interposer/state/wait_time.h"

namespace cotenant {

class Snapshot;
enum class Which : int;

// The evidence that a burst, or a part of it, is done.
enum class End {
  kSeen,  // the program saw it
  kByWord,  // a sequence word showed it
  kGivenUp,  // nobody has shown it for long, so it is assumed
  kLeft,  // the program waits for nothing of it, and it should be done by now
  kRefused,  // the driver refused all of it
};

enum class Work { kLaunch, kCopy, kOrder };  // kOrder: a wait for another stream

// Called before and after the driver call that submits work to `stream`.
void high_begin(Stream& stream, Work work) noexcept;
inline void high_settle(Stream& stream) noexcept { stream.high.settled.fetch_add(1, std::memory_order_release); }
// Called in place of high_settle() if the driver refused the work.
void high_withdraw(Stream& stream) noexcept;

// Everything in `stream` up to `upto` is complete. It was observed by a thread that has waited for it since `since`
// (wait_time.h).
void high_observe(Stream& stream, std::uint64_t upto, std::uint64_t since) noexcept;
// The same, if it is not known whether the application waited: if it has submitted more since `since`, it did not.
void high_observe_unseen(Stream& stream, std::uint64_t upto, std::uint64_t since, End end = End::kSeen) noexcept;

// Since when the calling thread has been waiting: the first function for a call that is about to block until work of
// `stream` is done, which also lets a young request hold (holding.h); the second for a query that has just found it done.
[[nodiscard]] std::uint64_t high_blocked_since(Stream& stream) noexcept;
[[nodiscard]] std::uint64_t high_querying_since(const Stream& stream) noexcept;
// A query said that work of `stream` is not done.
void high_note_query(Stream& stream) noexcept;

// A call has returned that showed no completion, but may have blocked its caller because of the GPU. `copy_ns`: how long it
// is expected to copy to the device; 0: it does not.
void high_note_blocked(Gpu& gpu, std::uint64_t since, std::uint64_t copy_ns = 0) noexcept;

// The work begun last on `stream` runs after the work of `other` up to `upto`.
void high_join(Stream& stream, Stream& other, std::uint64_t upto) noexcept;

// All work of the snapshot is complete.
void high_observe(const Snapshot& snapshot, std::uint64_t since) noexcept;

// The work of a busy stream counts as done if the program never asks for it: nothing has been submitted to the stream for
// long, while other work was seen to end. Without this one such stream would hold best-effort work for as long as requests
// come. For the helper thread, at each poll.
void high_forget(Stream& stream, std::uint64_t now) noexcept;

// The program has seen the end of a step in this burst and waits for nothing that is left, for this long that it should be done.
// An engine that queues its next step ahead leaves one behind when it has no more requests. For the helper thread.
void high_leave(Gpu& gpu, std::uint64_t quiet_since, std::uint64_t now) noexcept;

// A call is about to wait for these streams of a context. Work that counts as done although nobody has shown that holds again.
[[gnu::cold]] void high_doubt(Context& context, Which which) noexcept;
inline void high_waits_for_all(Context& context, Which which) noexcept {
  if (context.presumed.load(std::memory_order_acquire)) [[unlikely]]
    high_doubt(context, which);
}

// The last resort: all work counts as done although nobody has observed that.
void high_give_up(Gpu& gpu) noexcept;

}  // namespace cotenant
