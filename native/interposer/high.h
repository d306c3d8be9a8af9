// A high client's side: when it is busy. Each stream counts what was submitted; an observed completion
// says up to which count everything is done; the client is busy while some stream has more submitted
// than done. Submitting never waits: the fast path is two counters and one flag.
//
// The count is taken twice: `begun` before the driver is called (the client is busy from that moment)
// and `settled` after it returned. Observations use `settled` as it was when the observing call began,
// so a launch that is on its way in another thread is never taken for finished.
#pragma once

#include <atomic>
#include <cstdint>

#include "driver/abi.h"
#include "interposer/occupancy.h"
#include "interposer/spin.h"
#include "interposer/waited.h"

namespace cotenant {

struct Gpu;
struct Stream;
struct Submission;
struct Context;

// "When this stream is done up to `at`, `other` is done up to `upto`": from events waited for, and from
// the legacy stream's implicit order.
struct Join {
  Stream* other;
  std::uint64_t at;
  std::uint64_t upto;
};

// For applications that poll memory themselves: a number that the GPU writes behind their work.
struct TailWord {
  std::atomic<std::uint32_t> number{0};  // the last one enqueued
  std::atomic<std::uint64_t> upto{0};    // `settled` when it was
  std::atomic<std::uint64_t> at_ns{0};
};

// An application that asks whether its work is done, and finds that it is not, waits from then on; until it
// submits more.
struct Asked {
  std::atomic<std::uint64_t> begun{0};  // `begun` of the stream then
  std::atomic<std::uint64_t> at_ns{0};
};

struct HighStream {
  static constexpr int kJoins = 12;
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> settled{0};
  std::atomic<bool> busy{false};
  std::uint64_t done{0};  // these two under HighGpu::lock
  Join joins[kJoins]{};
  TailWord tail;
  Asked asked;
  std::atomic<std::uint64_t> copying_out{0};  // `begun` at the latest copy to the host; 0: it is over
};

struct HighGpu {
  Spin lock;
  std::uint32_t busy_streams{0};  // under lock, like the next six
  std::uint64_t burst_start{0};
  Waited waited;
  bool crowded{false};  // a stream's queue may have been full in this burst
  std::uint64_t announced_until{0};  // a request is expected before this moment; 0: none is
  std::uint64_t learned_ns{0};  // a typical long burst: decays towards what is seen
  std::uint32_t unobserved{0};  // bursts in a row that only the last resort ended
  std::atomic<bool> tails{false};  // add sequence words behind this client's work
  std::uint64_t quiet_count{0};    // the helper thread's: submissions at its last look,
  std::uint64_t quiet_since{0};    // and since when there were no more
};

enum class Work { kLaunch, kCopy, kOrder };  // kOrder: a wait for another stream

// Around the driver call that submits work to `stream`.
void high_begin(Stream& stream, Work work) noexcept;
void high_settle(Stream& stream) noexcept;

// publish.cpp, these four. Publishes what the kernel or graph being launched needs, where the policy asks for it. Its class and duration
// are the profile's, if there is one.
void high_kernel(const Stream& stream, const Submission& submission) noexcept;

// A graph was made. When one of its kernels begins is not to be seen from here, so all of it has the class in
// which, by the profile, its kernels spend most of their time, and the SMs of the widest of them.
void high_graph(cu::CUgraphExec exec, cu::CUgraph graph) noexcept;

// Publishes a copy over PCIe that was just begun: in flight for as long as it is expected to take, one to the
// host, which comes after the kernels, until it has been seen to be complete.
void high_copies(Stream& stream, const Submission& submission) noexcept;
// A copy that held up its caller is over.
void high_copied(Stream& stream) noexcept;

// Everything in `stream` up to `upto` has been seen to be complete, by a thread that waited for it since `since`
// (waited.h).
void high_observe(Stream& stream, std::uint64_t upto, std::uint64_t since) noexcept;
// The same by somebody who does not know whether the application waited: if it has submitted more since
// `since`, it did not.
void high_observe_unseen(Stream& stream, std::uint64_t upto, std::uint64_t since) noexcept;

// Since when a thread waits that is about to be blocked until work of `stream` is done, or that has just been
// told by a query that it is.
[[nodiscard]] std::uint64_t high_blocked_since(const Stream& stream) noexcept;
[[nodiscard]] std::uint64_t high_asked_since(const Stream& stream) noexcept;
// A query said that work of `stream` is not done.
void high_asked(Stream& stream) noexcept;

// A call that showed no completion, but may have held up its caller for the GPU, has returned.
void high_held_up(Gpu& gpu, std::uint64_t since) noexcept;

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

// A request is expected before `until`: best-effort work stands still from now on, as in a burst, but none
// is counted. The next burst takes the announcement over; one made while a burst runs outlasts it. True:
// the helper thread, asleep, does not know yet that there is an end to be watched.
[[nodiscard]] bool high_announce(Gpu& gpu, std::uint64_t until) noexcept;

// Ends an announcement that no request has followed. Returns in how many microseconds there will be one to
// end.
[[nodiscard]] std::uint32_t high_expire(Gpu& gpu, std::uint64_t now) noexcept;
inline constexpr std::uint32_t kNothingAnnounced = ~0u;

// tail.cpp. The helper thread's look at a client whose completions may go unobserved: reads the sequence
// words, gives up after a long silence, ends announcements. Returns in how many microseconds to look again.
[[nodiscard]] std::uint32_t high_tick(Gpu& gpu, std::uint64_t now) noexcept;

// tail.cpp. Behind a graph launch, an asynchronous copy to the host or an event: a sequence word, if this
// client needs it. From the application's thread, not while capturing.
void high_tail(Stream& stream) noexcept;

// The link was replaced: tell the new region what is true now.
void high_republish(Gpu& gpu) noexcept;

}  // namespace cotenant
