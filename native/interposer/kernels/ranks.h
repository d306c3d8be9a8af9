// Whether this process is one of several ranks, judged by its kernels.
#pragma once

#include <atomic>

#include "driver/abi.h"

namespace cotenant {

// Called for each new kernel of a best-effort process. Kernels that wait for other ranks are recognised by their names, where
// no call of NCCL that is committed begins them.
void look_for_ranks(cu::CUfunction function) noexcept;
extern std::atomic<bool> ranks_seen;  // a best-effort process has launched such a kernel, a high one has looked one up
// Called where a high process asks for a kernel by its name.
void look_for_ranks_in(const char* kernel) noexcept;

// The thread is in a call of NCCL whose operation waits on the GPU until it is committed (gangs/operation.h): what NCCL
// submits is not gated again.
extern __constinit thread_local bool in_gang_operation;

}  // namespace cotenant
