// Where a recording is kept while it is made: the tape, its lock, and the entry of a kernel or a graph.
#pragma once

#include <atomic>

#include "interposer/base/spin.h"
#include "interposer/record/tape.h"

namespace cotenant::record {

// Megabytes, of which a process that does not record touches nothing.
extern Tape tape;
extern Spin tape_lock;             // the tape and the entries in it
extern std::atomic<bool> closed;  // nothing is recorded any more

// Under `tape_lock`; null when there are too many.
[[nodiscard]] Kernel* kernel_of(const LaunchShape& shape) noexcept;
[[nodiscard]] Graph* graph_of(cu::CUgraphExec handle) noexcept;

}  // namespace cotenant::record
