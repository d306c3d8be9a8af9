// The state of a best-effort client. For each stream: how much was submitted, and how much of that the GPU has done.
// For each GPU: what was learned of kernels, and the helper thread's state of the holds.
#pragma once

#include <atomic>
#include <cstdint>

#include "driver/abi.h"
#include "gate/hold.h"
#include "generated/protocol.h"
#include "interposer/kernels/estimate.h"
#include "interposer/kernels/variant_trials.h"
#include "interposer/state/stop.h"

namespace cotenant {

// The events of one stream. There are two, so that one can be queried while the other is pending.
struct EventMarks {
  static constexpr int kEvents = 2;
  std::atomic<bool> busy{false};  // a thread reads them; other threads go on without
  std::atomic<bool> out{false};  // one of them is not known to be complete
  cu::CUcontext context{nullptr};
  cu::CUevent event[kEvents]{};
  std::uint32_t number[kEvents]{};  // 0: free
};

// Submissions of one stream. The numbers only grow. `ring` contains the numbers at each preemption point.
struct Lane {
  static constexpr std::uint32_t kRing = 512;
  std::atomic<std::uint64_t> submitted_ns{0};  // expected GPU time
  std::atomic<std::uint64_t> launches{0};
  std::atomic<std::uint64_t> finished_ns{0};
  std::atomic<std::uint64_t> finished_launches{0};
  std::atomic<std::uint32_t> chunk_us{0};  // since the last preemption point
  std::atomic<std::uint32_t> chunk_launches{0};
  std::atomic<std::uint32_t> borders{0};  // issued; the number of the last one
  std::atomic<std::uint32_t> passed{0};  // the last one known to have been reached
  std::atomic<bool> open{false};  // there is work behind the last mark
  std::atomic<bool> behind_wait{
      false};  // the next launch is queued behind a preemption point that waits for the pause flag
  std::atomic<bool> mark_behind{false};  // a mark is to follow the launch that is in call
  std::atomic<const void*> taken{
      nullptr};  // the thread that uses the stream exclusively (best_effort/exclusive_stream.h)
  std::atomic<std::uint32_t> launches_in_call{0};  // launches between begin_launch() and best_effort_after()
  std::atomic<std::uint64_t> stops_inside_ns{
      0};  // submitted time up to the last launch that can stop inside without a mark
  std::atomic<std::uint64_t> border_retry_ns{
      0};  // the driver refused a preemption point; the next attempt is at this time
  std::atomic<std::uint64_t> still_ns{0};  // time without progress while the stream was not held
  std::atomic<bool> stands{
      false};  // still_ns is so long that the GPU must be waiting for the program; its work is not counted
  std::uint64_t still_at{0};  // for the helper thread: progress at its last tick
  EventMarks events;
  std::atomic<std::uint64_t> ring_ns[kRing]{};
  std::atomic<std::uint64_t> ring_launches[kRing]{};
};

// The beats of each high client that holds, and since when they have not changed.
struct Presence {
  struct {
    std::uint32_t beats;
    std::uint64_t since;  // 0: nothing yet
  } of[protocol::MAX_HIGH];
};

// The slice that is open (best_effort/slices.h): work passes although a request is active.
struct Slice {
  std::uint64_t opened{0};  // 0: none is open
  std::uint64_t began{0};  // when the GPU was first seen to have come farther; 0: it was not yet
  std::uint64_t finished_before{0};  // the slot's finishedNs when it was opened
};

struct BestEffortGpu {
  Estimates estimates;
  VariantTrials trials;
  std::atomic<std::uint32_t> callers_waiting{0};
  std::atomic<std::uint32_t> chunk_parts{1};  // into so many a chunk is divided, because many streams have work
  Stop stop;
  // Launch by launch, where a policy limits them.
  std::atomic<std::uint64_t> spent_us{0};  // of the budget
  std::atomic<std::uint64_t> due_ns{0};  // when the next launch is
  std::atomic<std::uint64_t> progressed_at{
      0};  // monotonic ns; written by the helper thread and by callers that the gate lets through
  std::atomic<bool> heeds_no_pause{false};  // of a rank: its peers spin until its work has come to a collective
  // The helper thread's.
  HoldState hold;
  Slice slice;
  Presence presence;
  std::uint64_t standstill_looked{0};
  bool standstill_held{false};
};

// Exists while a thread of the application is blocked by the interposer, or by the driver because of held work. Then a
// long hold lets minimum progress through even if that work does not count as outstanding any more.
class Waiting {
 public:
  explicit Waiting(BestEffortGpu& gpu) noexcept : gpu_(gpu) { gpu_.callers_waiting.fetch_add(1); }
  ~Waiting() { gpu_.callers_waiting.fetch_sub(1); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  BestEffortGpu& gpu_;
};

}  // namespace cotenant
