// Jobs whose processes or GPUs wait for each other: held back one by one, what one of them does not do the others wait
// for. A best-effort one is refused; a high one is told what is protected.
#pragma once

#include "interposer/kernels/ranks.h"
#include "interposer/state/gpu.h"

namespace cotenant {

// Asked before a best-effort process gets a context, said once of a high one: a launcher may have told it of other ranks.
[[nodiscard]] cu::CUresult may_start() noexcept;

// A best-effort process has one GPU, the first that it allocates memory or submits work on. To look at others is no use
// of them. The error to return, else CUDA_SUCCESS.
[[nodiscard]] cu::CUresult choose_gpu(Gpu& gpu) noexcept;
[[nodiscard]] inline cu::CUresult may_use(Gpu& gpu) noexcept {
  return own_gpu.load(std::memory_order_acquire) == &gpu && !ranks_seen.load(std::memory_order_relaxed)
             ? cu::CUDA_SUCCESS
             : choose_gpu(gpu);
}

void forget_gang() noexcept;  // in a forked child

}  // namespace cotenant
