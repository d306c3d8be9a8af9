// How many SMs a launch fills: blocks / (blocks that fit one SM), asked of the driver once per kernel and
// shape (Orion, section 5.2: sm_needed = ceil(blocks / blocks_per_sm)).
#pragma once

#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

// A kernel and the shape it is launched in: grid x y z, block x y z, dynamic shared memory in bytes.
struct LaunchShape {
  cu::CUfunction function;
  unsigned of[7];

  // Both as one number, never 0: what durations and SM needs are kept by.
  [[nodiscard]] std::uint64_t key() const noexcept;
};

// 1 to the GPU's SM count; 0 when it cannot be known.
[[nodiscard]] std::uint32_t sms_needed(const LaunchShape& shape, std::uint32_t sm_count) noexcept;

}  // namespace cotenant
