#include "interposer/best_effort/exclusive_stream.h"

#include "interposer/base/clock.h"

namespace cotenant {
namespace {

constexpr std::uint64_t kSpinNs = 20'000;
constexpr std::uint64_t kTakenNeverLongerNs =
    60'000'000'000;  // the thread that uses the stream exclusively waits many times
constexpr std::uint64_t kOnTheirWayNeverLongerNs = 5'000'000'000;

bool belongs_to_another(const Lane& lane) noexcept {
  const void* by = lane.taken.load(std::memory_order_seq_cst);
  return by && by != this_thread();
}

// False: the stream was not given back in time.
bool wait_while_taken(const Lane& lane) noexcept {
  const std::uint64_t started = now_ns();
  while (belongs_to_another(lane)) {
    if (now_ns() - started > kTakenNeverLongerNs) return false;
    spin_then_nap(started, kSpinNs);
  }
  return true;
}

}  // namespace

void wait_to_begin_launch(Lane& lane) noexcept {
  for (bool given_back = true; given_back && belongs_to_another(lane);) {
    lane.launches_in_call.fetch_sub(1, std::memory_order_relaxed);
    given_back = wait_while_taken(lane);
    lane.launches_in_call.fetch_add(1, std::memory_order_seq_cst);
  }
}

ExclusiveStream::ExclusiveStream(Stream* stream) noexcept : lane_(stream ? &stream->lane : nullptr) {
  if (!lane_) return;
  const std::uint64_t started = now_ns();
  const auto take = [&](const void* nobody = nullptr) {
    return lane_->taken.compare_exchange_strong(nobody, this_thread(), std::memory_order_seq_cst);
  };
  while (!take()) {
    if (now_ns() - started > kTakenNeverLongerNs) return;
    spin_then_nap(started, kSpinNs);
  }
  // One of these launches may wait for work that comes after it. Then the exclusive user's work comes first.
  const std::uint64_t taken = now_ns();
  while (lane_->launches_in_call.load(std::memory_order_seq_cst) != 0 && now_ns() - taken < kOnTheirWayNeverLongerNs)
    spin_then_nap(taken, kSpinNs);
}

ExclusiveStream::~ExclusiveStream() {
  const void* us = this_thread();
  if (lane_) lane_->taken.compare_exchange_strong(us, nullptr, std::memory_order_release);
}

}  // namespace cotenant
