#include "interposer/kernels/ranks.h"

#include <cstring>

#include "interposer/kernels/function.h"

namespace cotenant {

namespace {

// NCCL, and all-reduces of vLLM and of PyTorch's symmetric memory: their kernels spin until other ranks' kernels run.
constexpr const char* kPeers[] = {"ncclDevKernel",       "ncclKernel_",         "cross_device_reduce_",
                                  "one_shot_all_reduce", "two_shot_all_reduce", "multimem_all_reduce"};

bool waits_for_ranks(const char* kernel) noexcept {
  for (const char* part : kPeers)
    if (std::strstr(kernel, part)) return true;
  return false;
}

}  // namespace

std::atomic<bool> ranks_seen{false};
__constinit thread_local bool in_gang_operation = false;

void look_for_ranks(cu::CUfunction function) noexcept {
  if (in_gang_operation) return;
  const char* name = named_function(function).name;
  if (name && waits_for_ranks(name)) ranks_seen.store(true, std::memory_order_relaxed);
}

void look_for_ranks_in(const char* kernel) noexcept {
  if (kernel && !ranks_seen.load(std::memory_order_relaxed) && waits_for_ranks(kernel))
    ranks_seen.store(true, std::memory_order_relaxed);
}

}  // namespace cotenant
