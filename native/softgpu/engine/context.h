#pragma once
// A context and its part of the scheduler's state. A green context uses everything of its root and only adds a limit on
// SMs. Contexts are never freed, so that a stale handle refers to a dead context and not to freed memory.
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "softgpu/engine/stream.h"

namespace cotenant::soft {

struct Context {
  Context* root = this;
  unsigned device = 0;
  unsigned slot = 0;  // in the shared file
  unsigned flags = 0;
  std::uint64_t id = 0;
  bool primary = false;
  bool alive = true;
  unsigned api_version = cu::kCudaVersion;
  std::size_t limits[16] = {1024, 1 << 20, 8 << 20, 2, 2048, 128};
  unsigned sm_limit = 0;  // of a green context, or of the process in mode mps; 0: none
  unsigned sm_in_use = 0;  // by its running kernels, counted in the green context and in its root

  std::shared_ptr<Stream> legacy;
  std::map<std::thread::id, std::shared_ptr<Stream>> per_thread;
  std::vector<std::shared_ptr<Stream>> streams;  // all of them, legacy and per-thread included
  std::vector<Stream*> active;  // those with something queued

  // The scheduler's, in the root only.
  std::vector<Unit*> pending;  // kernels that wait for SMs: most urgent first, then in order of readiness
  std::vector<Unit*> running;  // kernels that have theirs
  bool holds_turn = false;
  Nanos slice_begin = 0;
  Nanos freed = 0;  // when a kernel last ended
  Nanos counted = 0;  // up to here busy time is in the shared file
  Nanos ask_again = 0;  // when to look at the turn's holder again
};

struct GreenContext {
  Context* context = nullptr;  // what cuCtxFromGreenCtx gives
  unsigned sms = 0;
};

}  // namespace cotenant::soft
