#include "interposer/kernels/ranks.h"

#include <cstring>

#include "interposer/kernels/function.h"

namespace cotenant {

namespace {

// NCCL, and all-reduces of vLLM and of PyTorch's symmetric memory: their kernels spin until other ranks' kernels run.
constexpr const char* kPeers[] = {"ncclDevKernel",       "ncclKernel_",         "cross_device_reduce_",
                                  "one_shot_all_reduce", "two_shot_all_reduce", "multimem_all_reduce"};

}  // namespace

std::atomic<bool> ranks_seen{false};
__constinit thread_local bool in_gang_operation = false;

void look_for_ranks(cu::CUfunction function) noexcept {
  if (in_gang_operation) return;
  const char* name = named_function(function).name;
  for (const char* part : kPeers)
    if (name && std::strstr(name, part)) ranks_seen.store(true, std::memory_order_relaxed);
}

}  // namespace cotenant
