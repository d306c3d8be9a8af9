// How much memory of a GPU is free, as NVML says it. The driver itself does not answer while the process is checkpointed, and a
// restore that finds too little memory ends the process for good.
#pragma once

#include "interposer/agent/link.h"

namespace cotenant {

struct GpuMemory {
  std::uint64_t total;  // bytes
  std::uint64_t free;
};
// False: there is no NVML, or it does not know the GPU.
[[nodiscard]] bool read_gpu_memory(const Uuid& gpu, GpuMemory& into) noexcept;

}  // namespace cotenant
