#pragma once
// The driver's state of each thread: its stack of contexts, its way of treating capture, and the family of entry
// points (legacy or per-thread default stream) that it is in now.
#include <vector>

#include "driver/abi.h"

namespace cotenant::soft {

struct Context;

struct ThreadState {
  std::vector<Context*> stack;  // current context last
  cu::CUstreamCaptureMode capture_mode = cu::CU_STREAM_CAPTURE_MODE_GLOBAL;
  bool per_thread_stream = false;  // stream 0 means this thread's own
  bool in_callback = false;
};

ThreadState& thread_state();

// Exists during a call through a _ptds or _ptsz entry point.
class PerThreadScope {
 public:
  PerThreadScope() : before_(thread_state().per_thread_stream) { thread_state().per_thread_stream = true; }
  ~PerThreadScope() { thread_state().per_thread_stream = before_; }
  PerThreadScope(const PerThreadScope&) = delete;
  PerThreadScope& operator=(const PerThreadScope&) = delete;

 private:
  bool before_;
};

// Exists while a host function runs: the driver refuses calls made from it.
class CallbackScope {
 public:
  CallbackScope() { thread_state().in_callback = true; }
  ~CallbackScope() { thread_state().in_callback = false; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
};

}  // namespace cotenant::soft
