// The memory of a recording while it is made: the tape, its lock, and the entries of kernels and graphs.
#pragma once

#include <atomic>

#include "interposer/base/spin.h"
#include "interposer/record/tape.h"

namespace cotenant::record {

// Megabytes, which a process that does not record never touches.
extern Tape tape;
extern Spin tape_lock;             // the tape and the entries in it
extern std::atomic<bool> closed;  // nothing is recorded any more

// Called under `tape_lock`. null if there are too many.
[[nodiscard]] Kernel* kernel_of(const LaunchShape& shape) noexcept;
[[nodiscard]] Graph* graph_of(cu::CUgraphExec handle) noexcept;

}  // namespace cotenant::record
