// Exclusive use of a best-effort stream by one thread, while nothing may come between the entries that it submits.
#pragma once

#include "interposer/state/gpu.h"

namespace cotenant {

// A thread by the address of something of its own.
[[nodiscard]] inline const void* this_thread() noexcept {
  static thread_local char own;
  return &own;
}

// Announces a launch that ends with best_effort_after(). A thread that takes the stream waits until no launch is announced,
// and a launch waits until the stream is free. Each side first writes its own flag and then reads the other's (both
// sequentially consistent), so at least one of the two sees the other.
void wait_to_begin_launch(Lane& lane) noexcept;
inline void begin_launch(Lane& lane) noexcept {
  lane.launches_in_call.fetch_add(1, std::memory_order_seq_cst);
  if (lane.taken.load(std::memory_order_seq_cst)) wait_to_begin_launch(lane);
}

// While it lives, other threads submit nothing to this stream (null: none).
class ExclusiveStream {
 public:
  explicit ExclusiveStream(Stream* stream) noexcept;
  ~ExclusiveStream();
  ExclusiveStream(const ExclusiveStream&) = delete;
  ExclusiveStream& operator=(const ExclusiveStream&) = delete;

 private:
  Lane* lane_;
};

}  // namespace cotenant
