// Needs of a launch: the SMs it fills, blocks / (blocks that fit one SM), asked of the driver (Orion, section 5.2:
// sm_needed = ceil(blocks / blocks_per_sm)), and its values in the profile. Determined once per kernel and shape.
#pragma once

#include <cstdint>

#include "gate/gate.h"
#include "interposer/kernels/launch_shape.h"

namespace cotenant {

struct Needs {
  std::uint32_t sms;  // 1 to the GPU's SM count; 0 when it cannot be known
  KernelClass kernel_class;
  std::uint32_t duration_us;  // as profiled, at most kLongestUs; 0: unknown
  static constexpr std::uint32_t kLongestUs = 4095;
};

[[nodiscard]] Needs needs_of(const LaunchShape& shape, std::uint32_t sm_count) noexcept;

// For a graph, which has no kernel's shape: what was recorded when it was created, otherwise nothing.
[[nodiscard]] Needs needs_of_graph(const LaunchShape& shape) noexcept;
void note_needs_of_graph(const LaunchShape& shape, const Needs& needs) noexcept;

}  // namespace cotenant
