// A best-effort client's side: work is submitted well ahead and released in small steps.
//
// Deep submission: each stream's work is divided by borders into chunks. A border is one batch operation
// on the stream, {write mark = n; wait until hold == 0}: the write tells how far the GPU has come, the
// wait is where the GPU itself stops when a request of a high client is active. Stopping and going on
// again is one store by whoever knows (a high client, or our helper thread).
// Launch-by-launch gating (the fall-back) asks the gate before each launch and uses the marks alone.
//
// The GPU may also stand in a stream because it waits for the program: for a word that the program writes later, a host
// function, a peer. No wait of ours may be for that, or the program would wait for itself (standstill.cpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "driver/abi.h"
#include "gate/gate.h"
#include "interposer/best_effort/absent.h"
#include "interposer/kernels/estimate.h"
#include "interposer/kernels/occupancy.h"
#include "interposer/kernels/form_trials.h"
#include "interposer/best_effort/marks.h"

namespace cotenant {

struct Context;
struct Gpu;
struct Link;
struct Stream;

// What one stream has submitted. Numbers only grow; `ring` tells what had been submitted at each border.
struct Lane {
  static constexpr std::uint32_t kRing = 512;
  std::atomic<std::uint64_t> submitted_ns{0};  // expected GPU time
  std::atomic<std::uint64_t> launches{0};
  std::atomic<std::uint64_t> finished_ns{0};
  std::atomic<std::uint64_t> finished_launches{0};
  std::atomic<std::uint32_t> chunk_us{0};  // since the last border
  std::atomic<std::uint32_t> chunk_launches{0};
  std::atomic<std::uint32_t> borders{0};  // issued; the number of the last one
  std::atomic<std::uint32_t> passed{0};   // the last one known to have been reached
  std::atomic<bool> open{false};          // there is work behind the last border
  std::atomic<bool> behind_wait{false};  // the stream stops at a border before what comes next runs
  std::atomic<const void*> taken{nullptr};  // by a thread that puts in what nothing may come between
  std::atomic<std::uint32_t> on_their_way{0};  // launches from a look at `taken` until the driver's call returns
  std::atomic<std::uint64_t> stops_inside_ns{0};  // what was submitted up to the last launch that stops where no mark tells
  std::atomic<std::uint64_t> border_retry_ns{0};  // the driver refused one here: not again before
  std::atomic<std::uint64_t> still_ns{0};  // how long the GPU has made no progress here while it was free to
  std::atomic<bool> stands{false};  // so long that it must be waiting for the program: what is here is not counted
  std::uint64_t still_at{0};        // the helper thread's: how far it had come at the last look
  EventMarks events;
  std::atomic<std::uint64_t> ring_ns[kRing]{};
  std::atomic<std::uint64_t> ring_launches[kRing]{};
};

struct BestEffortGpu {
  Estimates estimates;
  FormTrials trials;
  std::atomic<std::uint32_t> callers_waiting{0};
  std::atomic<bool> frozen{false};  // leaving: nothing more is submitted
  // Launch by launch, where a policy limits them.
  std::atomic<std::uint64_t> spent_us{0};  // of the budget
  std::atomic<std::uint64_t> due_ns{0};    // when the next launch is
  // The helper thread's.
  std::uint64_t held_since{0};
  std::uint64_t pause_far{0};   // how far the GPU had come at the last look in a pause, or after its last trickle
  std::uint32_t slipped{0};     // looks since then that found it farther
  std::atomic<std::uint64_t> trickled_at{0};  // callers who are let through write it, too
  std::uint64_t last_tick{0};
  std::uint64_t looked_for_absent{0};
  Presence presence;
  std::uint64_t trickle_from{0};
  bool trickling{false};
  std::uint64_t slice_since{0};  // this client's time slice on the GPU began about then
  std::uint64_t renew_from{0};   // how far the GPU had come when the hold was closed to renew it
  bool renewing{false};
  std::uint64_t standstill_looked{0};
  bool standstill_held{false};
};

// While it lives, a thread of the application is held by us, or by the driver for work that we hold: a long pause then
// trickles, whether or not that work is still on the books.
class Waiting {
 public:
  explicit Waiting(BestEffortGpu& gpu) noexcept : gpu_(gpu) { gpu_.callers_waiting.fetch_add(1); }
  ~Waiting() { gpu_.callers_waiting.fetch_sub(1); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  BestEffortGpu& gpu_;
};

// Whether a copy crosses PCIe, and towards whom.
enum class Bus { kNone, kIn, kOut };

// What is about to be submitted. The time of kernels and graphs is learned by their shape, that of a graph's part where
// the part is kept; that of copies follows from their size.
struct Submission {
  enum class Kind { kKernel, kGraph, kGraphPart, kCopy } kind;
  std::uint64_t copy_ns;
  const LaunchShape* shape;  // null: a copy, or a part
  Bus bus{Bus::kNone};
  Estimate* estimate{nullptr};  // of a part
};

// Before the driver call; may wait. Hands what it began to best_effort_after.
struct Admission {
  Stream* stream;
  int timer;  // index of a running timer, -1: none
};
[[nodiscard]] Admission best_effort_before(Stream& stream, const Submission& submission) noexcept;
void best_effort_after(const Admission& admission) noexcept;

// Is there a high client on this GPU, and a policy that protects it? Without, best-effort work just runs.
[[nodiscard]] bool best_effort_gated(const Link& link) noexcept;

// The application saw this stream empty.
void best_effort_drained(Stream& stream) noexcept;
void best_effort_drained(const Context& context) noexcept;

// What the gate needs to know, as it is now. held_us and trickled_us are the caller's to fill.
[[nodiscard]] Seen best_effort_seen(Gpu& gpu, const Link& link, std::uint64_t now) noexcept;

// A moment in shared memory that lies ahead of `now` by more than two clocks read in turn can explain is
// damage, and must hold nobody back.
[[nodiscard]] bool believable(std::uint64_t moment, std::uint64_t now) noexcept;

// A slot just taken: marks of an earlier client are wiped, and the hold word says what is true now.
void best_effort_enter(const Link& link) noexcept;

// turns.cpp. The helper thread's look: the end of a resume delay, trickle, turns, lost wake-ups,
// statistics. Returns in how many microseconds to look again.
[[nodiscard]] std::uint32_t best_effort_tick(Gpu& gpu, std::uint64_t now) noexcept;

// Lets everything queued run: before the process leaves.
void best_effort_open(const Link& link) noexcept;

// Work queued under a former link, and graphs made executable under it, wait for a hold word that this client's rules do not
// reach any more. It is kept open: a high client that has not moved to the new region may close it again.
void best_effort_open_former(const Gpu& gpu) noexcept;

// Reads the marks; GPU time submitted by this process and not known finished, over all streams but those that stand.
struct Outstanding {
  std::uint64_t ns;
  std::uint64_t launches;
  std::uint64_t standing_ns;  // of those that stand,
  bool stands;                // and whether there are any
};
[[nodiscard]] Outstanding best_effort_outstanding(Gpu& gpu) noexcept;

}  // namespace cotenant
