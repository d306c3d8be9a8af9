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
#include "interposer/high/holding.h"
#include "interposer/kernels/occupancy.h"
#include "interposer/state/progress.h"
#include "interposer/base/spin.h"
#include "interposer/state/waited.h"

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

// tail.cpp. For applications that poll memory themselves: a number that the GPU writes behind their work. All of it
// under HighGpu::lock.
struct TailWord {
  std::uint32_t number{0};  // the last one enqueued
  std::uint64_t upto{0};    // `settled` when it was
  std::uint64_t at_ns{0};
  std::uint64_t latest{0};  // the kind of the latest work, with a word behind it or not,
  std::uint64_t latest_ns{0};
  std::uint64_t counted{0};  // and `begun` when that kind was last counted as one that comes before a silence
};

// A kind of work (a kernel in a shape, a graph, a copy) after which the application submitted nothing for a while.
struct Ending {
  std::uint64_t kind{0};
  std::uint32_t times{0};
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
  std::atomic<std::uint64_t> launched{0};  // `begun` at the latest kernel or graph
  std::atomic<bool> busy{false};
  std::uint64_t done{0};  // these two under HighGpu::lock
  Join joins[kJoins]{};
  TailWord tail;
  Asked asked;
  std::atomic<std::uint64_t> copying_out{0};  // `begun` at the latest copy to the host; 0: it is over
};

// What others are made to do. Under HighGpu::lock.
struct Holding {
  bool held{false};              // our bit is set
  bool sharing{false};           // in a slice of time in which it is not, though the client is busy
  std::uint64_t slice_ends{0};
  std::uint64_t shared_from{0};  // 0: not sharing, or idle
};

struct HighGpu {
  Spin lock;
  std::uint32_t busy_streams{0};  // under lock, like what follows up to `tails`
  std::uint64_t burst_start{0};
  Waited waited;
  bool crowded{false};  // a stream's queue may have been full in this burst
  bool worked{false};   // something was seen to be complete in it
  Progress progress;
  Holding holding;
  std::uint64_t announced_until{0};  // a request is expected before this moment; 0: none is
  std::uint64_t learned_ns{0};  // a typical long burst: decays towards what is seen
  std::uint32_t unobserved{0};  // bursts in a row that only the last resort ended
  Ending endings[8]{};
  std::uint32_t by_words{0};    // while words are added: bursts that only one ended, since the program last looked,
  std::uint32_t idle_words{0};  // and looks in a row before which there were few of them
  std::uint64_t seen_bursts{0};    // that the program saw end
  std::atomic<bool> tails{false};  // add sequence words behind this client's work
  std::uint64_t quiet_count{0};    // the helper thread's: submissions at its last look,
  std::uint64_t quiet_since{0};    // since when there were no more while work was out,
  std::uint64_t quiet_seen{0};     // `seen_bursts` then,
  std::uint64_t seen_count{0};     // submissions when the program was last known to look at what is done,
  std::uint64_t latest_ns{0};      // and when the client was last busy
};

// Some GPU's `tails` is set: one load on the launch path of a client that needs none.
extern std::atomic<int> tails_wanted;

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
void high_observe_unseen(Stream& stream, std::uint64_t upto, std::uint64_t since, End end = End::kSeen) noexcept;

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

// tail.cpp. The helper thread's look at a client whose completions may go unobserved: reads the sequence
// words, gives up after a long silence, ends announcements. Returns in how many microseconds to look again.
[[nodiscard]] std::uint32_t high_tick(Gpu& gpu, std::uint64_t now) noexcept;

// tail.cpp. Behind work just submitted: a sequence word, if this client needs it there. From the application's thread,
// not while capturing.
enum class Tail { kNo, kYes };  // kYes: may be the last work of a request whose end nobody asks the driver for
void high_tail(Stream& stream, const Submission& submission, Tail tail) noexcept;

}  // namespace cotenant
