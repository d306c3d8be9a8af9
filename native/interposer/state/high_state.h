// The state of a high client. For each stream: how much was submitted, and how much of that was observed to be
// complete. For each GPU: the current burst, and what is known of such bursts.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/base/spin.h"
#include "interposer/state/progress.h"
#include "interposer/state/segment.h"
#include "interposer/state/startup.h"
#include "interposer/state/wait_time.h"

namespace cotenant {

struct Stream;

// "When this stream is done up to `at`, `other` is done up to `upto`": from events waited for, and from
// the legacy stream's implicit order.
struct Join {
  Stream* other;
  std::uint64_t at;
  std::uint64_t upto;
};
struct JoinPage;  // of a stream that has joined many (high/joins.cpp)

// The tail word of a stream (high/tail.h): a number that the GPU writes behind the work of an application that polls memory.
// All of it under HighGpu::lock.
struct TailWord {
  std::uint32_t number{0};  // the last one enqueued
  std::uint64_t upto{0};  // `settled` when it was
  std::uint64_t at_ns{0};
  std::uint64_t latest{0};  // the kind of the latest work, with a word behind it or not,
  std::uint64_t latest_ns{0};
  std::uint64_t counted{0};  // `begun` when that kind was last counted as work before a silence
};

// The queue words of a stream (high/queue.h). Under HighGpu::lock, all but `due`.
struct QueueWords {
  static constexpr std::uint32_t kEvery = 128;  // submissions of the stream
  static constexpr std::uint32_t kPlaces = 16;  // twice as many as the driver's queue holds with their work
  std::atomic<std::uint64_t> due{0};  // the value of `settled` from which the next one is written
  std::uint32_t number{0};  // the last one enqueued
  std::uint64_t upto[kPlaces]{};  // by number: `settled` when it was
  std::uint64_t done{0};  // up to where they showed the work to be done, when the last one was
};

// A kind of work (a kernel in a shape, a graph, a copy) after which the application submitted nothing for a while.
struct Ending {
  std::uint64_t kind{0};
  std::uint32_t times{0};
};

// The first query that found the stream's latest work not done. The application waits from then on, until it submits
// more.
struct FirstQuery {
  std::atomic<std::uint64_t> begun{0};  // `begun` of the stream then
  std::atomic<std::uint64_t> at_ns{0};
};

// How long nothing has been submitted to a busy stream, as the helper thread sees it. Under HighGpu::lock.
struct Silence {
  std::uint64_t begun{0};  // `begun` at its latest look
  std::uint64_t since{0};
  std::uint64_t longest_ns{0};  // after which the stream was seen to be done
};

// After this time without a submission the application polls, or waits for something else.
inline constexpr std::uint64_t kPauseNs = 1'000'000;

struct HighStream {
  static constexpr int kJoins = 32;
  static constexpr std::uint64_t kIdle = 0;  // `attend_at`: nothing is out, so the next submission begins a burst
  static constexpr std::uint64_t kNothingDue = ~std::uint64_t{0};  // it is busy until it is seen to be done
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> settled{0};
  std::atomic<std::uint64_t> launched{0};  // `begun` at the latest kernel or graph
  // The launching thread takes the lock of the GPU when `begun` reaches this. Written under the lock.
  std::atomic<std::uint64_t> attend_at{kIdle};
  std::uint64_t done{0};  // under HighGpu::lock, like the next three
  std::uint32_t joined{0};  // of `joins` that are in use
  Join joins[kJoins]{};
  JoinPage* more_joins{nullptr};
  TailWord tail;
  QueueWords queue;
  FirstQuery first_query;
  std::atomic<std::uint64_t> copying_out{0};  // `begun` at the latest copy to the host; 0: it is over
  Silence silence;
  GraphQueue graphs;  // launched and not seen to be done
  // Its work was left behind (high/left.h): the kinds of its work are noted, and those after which it is left get a tail word.
  std::atomic<bool> left_behind{false};
  std::atomic<bool> presumed{false};  // what it had counts as done although nobody has shown that

  [[nodiscard]] bool busy(std::memory_order order) const noexcept { return attend_at.load(order) != kIdle; }
};

// How best-effort work is held. Under HighGpu::lock.
struct Holding {
  // Its work on this GPU holds best-effort work, on all GPUs of the process (high/holding.h). Written under HighGpu::lock.
  std::atomic<bool> held{false};
  std::atomic<bool> young{false};  // but not the pause flags yet: the rules wait until the burst is old
  std::uint32_t old_after{0};  // a burst that has submitted so much to one stream counts as old; 0: its age tells
  bool sharing{false};  // a time slice in which the bit is clear although the client is busy
  std::uint64_t slice_ends{0};
  std::uint64_t shared_from{0};  // 0: not sharing, or idle
  bool starting{false};  // it starts up: `turns` decides when the bit is clear
  Turns turns;
};

// Work that the program does not wait for (high/left.h). Under HighGpu::lock.
struct LeftWork {
  bool words{false};  // it gets tail words
  std::uint32_t score{0};
  std::uint64_t counted_ns{0};  // when the score last rose
  std::uint64_t seen_ns{0};  // when the program last saw work end,
  std::uint64_t seen_submissions{0};  // and what it had submitted by then
  // A burst that only a word ended. If the program looks at it before it submits more, it counts.
  bool pending{false};
  std::uint64_t pending_end{0};
};

struct HighGpu {
  Spin lock;
  std::atomic<std::uint64_t> longest_ns{0};  // the longest burst
  std::atomic<bool> copied{false};  // a copy over PCIe was published since a burst last ended
  std::uint32_t busy_streams{0};  // under the lock, like all members up to `tails`
  std::uint64_t burst_start{0};
  std::atomic<std::uint32_t> waiters{0};  // threads that are blocked until work is done
  std::atomic<std::uint64_t> polled_ns{0};  // when a query last said that work is not done
  WaitTime waited;
  Segment segment;
  bool crowded{false};  // a stream's queue may have been full in this burst
  std::uint32_t crowded_bursts{0};
  bool worked{false};  // some work of this burst was seen to be complete
  Progress progress;
  Startup startup;
  Holding holding;
  std::uint64_t announced_until{0};  // a request is expected before this moment; 0: none is
  std::uint64_t learned_ns{0};  // a typical long burst; decays towards the observed ones
  std::uint32_t unobserved{0};  // bursts in a row that only the last resort ended
  Ending endings[8]{};
  // While tail words are added. A poll: the program asks for completions.
  std::uint32_t by_words{0};  // bursts since the last poll that only a word ended
  std::uint32_t paused_by_words{0};  // those of them after which the program paused
  std::uint64_t word_ended_ns{0};  // when the latest burst ended; 0: not by a word, or something came since
  std::uint32_t idle_words{0};  // looks in a row with few paused bursts before each
  std::uint64_t seen_bursts{0};  // bursts that the program saw end
  std::atomic<bool> polls{false};  // it is taken to poll memory
  LeftWork left;
  std::atomic<bool> tails{false};  // either: add tail words behind this client's work
  std::atomic<bool> queue_words{false};  // add queue words, since kCrowdedBursts were crowded
  // Free memory as last reported to the program, plus its own allocations at that time; 0: none was reported.
  std::atomic<std::uint64_t> reported_and_own{0};
  std::atomic<std::uint64_t> first_reported{
      0};  // free memory as reported before the program loaded its model; 0: never
  std::uint64_t quiet_count{0};  // the helper thread's: submissions at its last look,
  std::uint64_t quiet_since{0};  // since when there were no more while work was out,
  std::uint64_t quiet_seen{0};  // `seen_bursts` then,
  std::uint64_t seen_count{0};  // submissions when the program was last known to look at what is done,
  std::uint64_t latest_ns{0};  // when the client was last busy,
  std::uint64_t last_poll_ns{0};  // and when the helper thread last looked
};

}  // namespace cotenant
