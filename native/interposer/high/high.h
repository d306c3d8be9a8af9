// A high client's side: when it is busy. Each stream counts what was submitted; an observed completion
// says up to which count everything is done; the client is busy while some stream has more submitted
// than done. Submitting never waits: the fast path is two counters and one flag.
//
// The count is taken twice: `begun` before the driver is called (the client is busy from that moment)
// and `settled` after it returned. Observations use `settled` as it was when the observing call began,
// so a launch that is on its way in another thread is never taken for finished.
#pragma once

#include <cstdint>

#include "driver/abi.h"
#include "interposer/state/wait_time.h"

namespace cotenant {

struct Gpu;
struct Stream;
struct Context;

// How a burst, or a part of it, came to be taken for done.
enum class End {
  kSeen,     // the program saw it
  kByWord,   // a sequence word showed it
  kGivenUp,  // nobody did, for long
  kRefused,  // the driver took nothing
};

enum class Work { kLaunch, kCopy, kOrder };  // kOrder: a wait for another stream

// Around the driver call that submits work to `stream`.
void high_begin(Stream& stream, Work work) noexcept;
void high_settle(Stream& stream) noexcept;
// In place of high_settle() where the driver refused: nothing was submitted.
void high_withdraw(Stream& stream) noexcept;

// Everything in `stream` up to `upto` has been seen to be complete, by a thread that waited for it since `since`
// (waited.h).
void high_observe(Stream& stream, std::uint64_t upto, std::uint64_t since) noexcept;
// The same by somebody who does not know whether the application waited: if it has submitted more since
// `since`, it did not.
void high_observe_unseen(Stream& stream, std::uint64_t upto, std::uint64_t since, End end = End::kSeen) noexcept;

// Since when a thread waits that is about to be blocked until work of `stream` is done, or that has just been
// told by a query that it is.
[[nodiscard]] std::uint64_t high_blocked_since(const Stream& stream) noexcept;
[[nodiscard]] std::uint64_t high_querying_since(const Stream& stream) noexcept;
// A query said that work of `stream` is not done.
void high_note_query(Stream& stream) noexcept;

// A call that showed no completion, but may have held up its caller for the GPU, has returned.
void high_note_blocked(Gpu& gpu, std::uint64_t since) noexcept;

// What was last begun on `stream` runs after `other` up to `upto`.
void high_join(Stream& stream, Stream& other, std::uint64_t upto) noexcept;

// The streams that an operation on the legacy stream, or a wait for a whole context, completes.
struct Snapshot {
  static constexpr int kMost = 64;
  int count;
  struct {
    Stream* stream;
    std::uint64_t upto;
  } of[kMost];
};
void high_snapshot(const Context& context, bool blocking_only, Snapshot& into) noexcept;
void high_observe(const Snapshot& snapshot, std::uint64_t since) noexcept;

// The last resort: everything counts as done though nobody saw it.
void high_give_up(Gpu& gpu) noexcept;

}  // namespace cotenant
