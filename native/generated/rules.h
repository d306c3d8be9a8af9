// Generated from src/protocol/rules.ts by `npm run update`. Do not edit.
#pragma once

#include <cstdint>

#include "generated/protocol.h"

namespace cotenant {

// A rule's value is read from shared memory by these functions alone. They force it into a range in which no wait can
// be endless: shared memory is trusted no further.
namespace rule {

// best-effort work waits for high clients; 0: nobody waits
[[nodiscard]] inline bool protect(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.protect.load(std::memory_order_relaxed);
  return v != 0;
}

// contexts are time-sliced (no MPS), so only one best-effort client may run at a time
[[nodiscard]] inline bool isolated(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.isolated.load(std::memory_order_relaxed);
  return v != 0;
}

// best-effort work is paused whatever the other parameters allow, except for minimum progress
[[nodiscard]] inline bool paused(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.paused.load(std::memory_order_relaxed);
  return v != 0;
}

// what best-effort work may do while a request is active
[[nodiscard]] inline protocol::WhenActive when_active(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.whenActive.load(std::memory_order_relaxed);
  return static_cast<protocol::WhenActive>(v <= 5 ? v : 0);
}

// `allowOpposite` and `allowShort`: a kernel must need fewer SMs than this
[[nodiscard]] inline std::uint32_t sm_limit(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.smLimit.load(std::memory_order_relaxed);
  return v;
}

// `allowOpposite` and `allowShort`: a kernel must be expected to take no longer
[[nodiscard]] inline std::uint32_t max_kernel_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.maxKernelUs.load(std::memory_order_relaxed);
  return v;
}

// the length of a chunk: released best-effort work that a new request may find before it
[[nodiscard]] inline std::uint32_t chunk_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.chunkUs.load(std::memory_order_relaxed);
  return v < 20 ? 20 : v > 20000 ? 20000 : v;
}

// a chunk holds at most this many launches
[[nodiscard]] inline std::uint32_t chunk_launches(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.chunkLaunches.load(std::memory_order_relaxed);
  return v < 1 ? 1 : v > 128 ? 128 : v;
}

// released best-effort work at most, while a request is active and the kernel is allowed to co-run
[[nodiscard]] inline std::uint32_t active_ahead_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.activeAheadUs.load(std::memory_order_relaxed);
  return v > 20000 ? 20000 : v;
}

// deep submission: work queued behind the pause flag at most
[[nodiscard]] inline std::uint32_t submit_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.submitUs.load(std::memory_order_relaxed);
  return v < 100 ? 100 : v > 100000 ? 100000 : v;
}

// deep submission: launches queued behind the pause flag at most
[[nodiscard]] inline std::uint32_t submit_launches(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.submitLaunches.load(std::memory_order_relaxed);
  return v < 1 ? 1 : v > 800 ? 800 : v;
}

// launched best-effort kernels that have not ended, at most
[[nodiscard]] inline std::uint32_t kernels_out(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.kernelsOut.load(std::memory_order_relaxed);
  return v;
}

// how long best-effort work stays paused after the last request ended
[[nodiscard]] inline std::uint32_t resume_delay_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.resumeDelayUs.load(std::memory_order_relaxed);
  return v > 100000 ? 100000 : v;
}

// how long one best-effort client keeps the GPU when several want it
[[nodiscard]] inline std::uint32_t quantum_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.quantumUs.load(std::memory_order_relaxed);
  return v < 500 ? 500 : v > 1000000 ? 1000000 : v;
}

// in a pause longer than this, best-effort work makes minimum progress
[[nodiscard]] inline std::uint32_t progress_after_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.progressAfterUs.load(std::memory_order_relaxed);
  return v < 1000 ? 1000 : v > 1000000 ? 1000000 : v;
}

// minimum progress: one chunk passes in each period of this length
[[nodiscard]] inline std::uint32_t progress_every_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.progressEveryUs.load(std::memory_order_relaxed);
  return v < 1000 ? 1000 : v > 1000000 ? 1000000 : v;
}

// the expected duration of a kernel that was never seen before
[[nodiscard]] inline std::uint32_t unknown_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.unknownUs.load(std::memory_order_relaxed);
  return v < 1 ? 1 : v > 100000 ? 100000 : v;
}

// how best-effort work is queued
[[nodiscard]] inline protocol::Submission submission(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.submission.load(std::memory_order_relaxed);
  return static_cast<protocol::Submission>(v <= 1 ? v : 0);
}

// once a kernel is known, one launch in this many is timed
[[nodiscard]] inline std::uint32_t sample_every(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.sampleEvery.load(std::memory_order_relaxed);
  return v < 1 ? 1 : v > 1000000 ? 1000000 : v;
}

// the size of the pieces into which best-effort copies are cut
[[nodiscard]] inline std::uint32_t copy_piece_bytes(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.copyPieceBytes.load(std::memory_order_relaxed);
  return v < 65536 ? 65536 : v > 1073741824 ? 1073741824 : v;
}

// high clients publish class, SMs and duration of their latest kernel
[[nodiscard]] inline bool want_kernels(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.wantKernels.load(std::memory_order_relaxed);
  return v != 0;
}

// launch by launch: once launched work exceeds this, no more until all has ended; replaces `chunkUs`
[[nodiscard]] inline std::uint32_t budget_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.budgetUs.load(std::memory_order_relaxed);
  return v;
}

// launch by launch: the least average time between launches
[[nodiscard]] inline std::uint32_t launch_every_ns(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.launchEveryNs.load(std::memory_order_relaxed);
  return v > 10000000 ? 10000000 : v;
}

// one chunk in each period of this length may pass while a request is active
[[nodiscard]] inline std::uint32_t co_run_every_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.coRunEveryUs.load(std::memory_order_relaxed);
  return v > 1000000 ? 1000000 : v;
}

// kernels expected to take longer run in a variant that can stop inside, if their PTX is known
[[nodiscard]] inline std::uint32_t preempt_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.preemptUs.load(std::memory_order_relaxed);
  return v;
}

// how best-effort graphs stop inside
[[nodiscard]] inline protocol::GraphGates graph_gates(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.graphGates.load(std::memory_order_relaxed);
  return static_cast<protocol::GraphGates>(v <= 2 ? v : 0);
}

// matrix products expected to take longer are given to cuBLAS in parts of about this length
[[nodiscard]] inline std::uint32_t split_products_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.splitProductsUs.load(std::memory_order_relaxed);
  return v;
}

// isolated: how often released work is paused for a moment, which renews its time slice on the GPU
[[nodiscard]] inline std::uint32_t renew_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.renewUs.load(std::memory_order_relaxed);
  return v == 0 ? 0 : v < 200 ? 200 : v;
}

// grace period: a younger request, on which the program does not block yet, does not pause best-effort work; a program that launches for long leaves the GPU idle at first
[[nodiscard]] inline std::uint32_t grace_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.graceUs.load(std::memory_order_relaxed);
  return v > 10000000 ? 10000000 : v;
}

// with `graceUs`: a request ends its grace period after this many launches to one stream, so that it pauses best-effort work shortly before its usual end
[[nodiscard]] inline std::uint32_t grace_launches(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.graceLaunches.load(std::memory_order_relaxed);
  return v;
}

// a high client in which no request ends for this long, and for 4 times its longest request, time-shares with best-effort work
[[nodiscard]] inline std::uint32_t startup_timeout_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.startupTimeoutUs.load(std::memory_order_relaxed);
  return v == 0 ? 0 : v < 20000 ? 20000 : v;
}

// length of the co-running slice in each period of `coRunEveryUs`, chunk after chunk, whether or not chunks passed between requests
[[nodiscard]] inline std::uint32_t co_run_slice_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.coRunSliceUs.load(std::memory_order_relaxed);
  return v > 20000 ? 20000 : v;
}

// with `coRunSliceUs`: concurrent with an older burst, it passes once a second only. An engine's prefill step is longer than its others
[[nodiscard]] inline std::uint32_t co_run_until_us(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.coRunUntilUs.load(std::memory_order_relaxed);
  return v;
}

// with `coRunUntilUs`: a burst with this many launches to one stream counts as that old. An engine replays a graph for a decode step, and launches hundreds of kernels for a prefill step
[[nodiscard]] inline std::uint32_t co_run_until_launches(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = settings.coRunUntilLaunches.load(std::memory_order_relaxed);
  return v;
}

}  // namespace rule

// All rules at one moment each. Times in microseconds where the name says so.
struct Rules {
  bool protect;
  bool isolated;
  bool paused;
  protocol::WhenActive when_active;
  std::uint32_t sm_limit;
  std::uint32_t max_kernel_us;
  std::uint32_t chunk_us;
  std::uint32_t chunk_launches;
  std::uint32_t active_ahead_us;
  std::uint32_t submit_us;
  std::uint32_t submit_launches;
  std::uint32_t kernels_out;
  std::uint32_t resume_delay_us;
  std::uint32_t quantum_us;
  std::uint32_t progress_after_us;
  std::uint32_t progress_every_us;
  std::uint32_t unknown_us;
  protocol::Submission submission;
  std::uint32_t sample_every;
  std::uint32_t copy_piece_bytes;
  bool want_kernels;
  std::uint32_t budget_us;
  std::uint32_t launch_every_ns;
  std::uint32_t co_run_every_us;
  std::uint32_t preempt_us;
  protocol::GraphGates graph_gates;
  std::uint32_t split_products_us;
  std::uint32_t renew_us;
  std::uint32_t grace_us;
  std::uint32_t grace_launches;
  std::uint32_t startup_timeout_us;
  std::uint32_t co_run_slice_us;
  std::uint32_t co_run_until_us;
  std::uint32_t co_run_until_launches;
};

[[nodiscard]] inline Rules read_rules(const protocol::Settings& settings) noexcept {
  return Rules{
      rule::protect(settings),
      rule::isolated(settings),
      rule::paused(settings),
      rule::when_active(settings),
      rule::sm_limit(settings),
      rule::max_kernel_us(settings),
      rule::chunk_us(settings),
      rule::chunk_launches(settings),
      rule::active_ahead_us(settings),
      rule::submit_us(settings),
      rule::submit_launches(settings),
      rule::kernels_out(settings),
      rule::resume_delay_us(settings),
      rule::quantum_us(settings),
      rule::progress_after_us(settings),
      rule::progress_every_us(settings),
      rule::unknown_us(settings),
      rule::submission(settings),
      rule::sample_every(settings),
      rule::copy_piece_bytes(settings),
      rule::want_kernels(settings),
      rule::budget_us(settings),
      rule::launch_every_ns(settings),
      rule::co_run_every_us(settings),
      rule::preempt_us(settings),
      rule::graph_gates(settings),
      rule::split_products_us(settings),
      rule::renew_us(settings),
      rule::grace_us(settings),
      rule::grace_launches(settings),
      rule::startup_timeout_us(settings),
      rule::co_run_slice_us(settings),
      rule::co_run_until_us(settings),
      rule::co_run_until_launches(settings),
  };
}

namespace protocol {

// The rules of the policy `strict` in mode isolated, before any burst has been seen.
inline void set_strict_rules(Settings& rules) noexcept {
  rules.known = 34;
  rules.protect = 1;
  rules.isolated = 1;
  rules.paused = 0;
  rules.whenActive = 0;
  rules.smLimit = 0;
  rules.maxKernelUs = 0;
  rules.chunkUs = 200;
  rules.chunkLaunches = 16;
  rules.activeAheadUs = 0;
  rules.submitUs = 10000;
  rules.submitLaunches = 700;
  rules.kernelsOut = 0;
  rules.resumeDelayUs = 150;
  rules.quantumUs = 5000;
  rules.progressAfterUs = 250000;
  rules.progressEveryUs = 10000;
  rules.unknownUs = 5000;
  rules.submission = 0;
  rules.sampleEvery = 64;
  rules.copyPieceBytes = 2097152;
  rules.wantKernels = 0;
  rules.budgetUs = 0;
  rules.launchEveryNs = 0;
  rules.coRunEveryUs = 0;
  rules.preemptUs = 200;
  rules.graphGates = 2;
  rules.splitProductsUs = 200;
  rules.renewUs = 0;
  rules.graceUs = 0;
  rules.graceLaunches = 0;
  rules.startupTimeoutUs = 250000;
  rules.coRunSliceUs = 0;
  rules.coRunUntilUs = 0;
  rules.coRunUntilLaunches = 0;
}

}  // namespace protocol

}  // namespace cotenant
