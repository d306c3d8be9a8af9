// Jobs whose processes or GPUs wait for each other. If one process is held, the others wait for it. Best-effort ranks
// that use NCCL are a gang, whose collectives are committed (gangs/); another best-effort job of this kind is refused. For
// a high one, the limits of its protection are reported.
#pragma once

#include "interposer/kernels/ranks.h"
#include "interposer/state/gpu.h"

namespace cotenant {

// Called before a best-effort process gets a context, and once in a high process: whether a launcher has told it of
// other ranks.
[[nodiscard]] cu::CUresult may_start() noexcept;

// A best-effort process has one GPU: the first on which it allocates memory or submits work. It may query others.
// Returns CUDA_SUCCESS, or the error for the application.
[[nodiscard]] cu::CUresult choose_gpu(Gpu& gpu) noexcept;
[[nodiscard]] inline cu::CUresult may_use(Gpu& gpu) noexcept {
  return own_gpu.load(std::memory_order_acquire) == &gpu && !ranks_seen.load(std::memory_order_relaxed)
             ? cu::CUDA_SUCCESS
             : choose_gpu(gpu);
}

void forget_gang() noexcept;  // in a forked child

}  // namespace cotenant
