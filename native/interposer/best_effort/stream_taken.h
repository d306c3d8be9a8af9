// A best-effort stream that one thread has for itself for as long as nothing may come between what it submits.
#pragma once

#include "interposer/state/gpu.h"

namespace cotenant {

// A thread by the address of something of its own.
[[nodiscard]] inline const void* this_thread() noexcept {
  static thread_local char own;
  return &own;
}

// A launch sets out: from here until best_effort_after() nobody who takes the stream believes it to be his. Whoever takes it says
// so, then looks for launches on their way; we say that we are, then look.
void set_out_again(Lane& lane) noexcept;
inline void set_out(Lane& lane) noexcept {
  lane.on_their_way.fetch_add(1, std::memory_order_seq_cst);
  if (lane.taken.load(std::memory_order_seq_cst)) set_out_again(lane);
}

// While it lives, other threads submit nothing to this stream (null: none).
class StreamTaken {
 public:
  explicit StreamTaken(Stream* stream) noexcept;
  ~StreamTaken();
  StreamTaken(const StreamTaken&) = delete;
  StreamTaken& operator=(const StreamTaken&) = delete;

 private:
  Lane* lane_;
};

}  // namespace cotenant
