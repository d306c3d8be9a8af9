// Whether this process is one rank of several, as its kernels tell.
#pragma once

#include <atomic>

#include "driver/abi.h"

namespace cotenant {

// A kernel that is new: those of NCCL that move data to other ranks have names of their own.
void look_for_ranks(cu::CUfunction function) noexcept;
extern std::atomic<bool> ranks_seen;

}  // namespace cotenant
