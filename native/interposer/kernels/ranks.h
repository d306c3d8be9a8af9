// Whether this process is one of several ranks, judged by its kernels.
#pragma once

#include <atomic>

#include "driver/abi.h"

namespace cotenant {

// Called for each new kernel. NCCL's kernels that move data to other ranks are recognised by their names.
void look_for_ranks(cu::CUfunction function) noexcept;
extern std::atomic<bool> ranks_seen;

}  // namespace cotenant
