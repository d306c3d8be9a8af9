// Exclusive use of a best-effort stream by one thread, while nothing may come between the entries that it submits.
#pragma once

#include "interposer/state/gpu.h"

namespace cotenant {

// Identifies the calling thread by the address of a thread-local variable.
[[nodiscard]] inline const void* this_thread() noexcept {
  static thread_local char own;
  return &own;
}

// Registers a launch that ends with best_effort_after(). A thread that takes the stream waits until no launch is
// registered, and a launch waits until the stream is free. Each side first writes its own flag and then reads the
// other's (both sequentially consistent), so at least one of them sees the other.
void wait_to_begin_launch(Lane& lane) noexcept;
inline void begin_launch(Lane& lane) noexcept {
  lane.launches_in_call.fetch_add(1, std::memory_order_seq_cst);
  if (lane.taken.load(std::memory_order_seq_cst)) wait_to_begin_launch(lane);
}

// While this object exists, other threads submit nothing to the stream. Null: no stream is taken.
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
