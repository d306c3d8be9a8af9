// What durations and needs are kept by: a kernel or graph, and the shape in which it is launched.
#pragma once

#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

// A kernel and the shape it is launched in: grid x y z, block x y z, dynamic shared memory in bytes.
struct LaunchShape {
  cu::CUfunction function;
  unsigned of[7];

  // Both as one number, never 0: what durations and needs are kept by.
  [[nodiscard]] std::uint64_t key() const noexcept;
};

// A graph is one item, whatever is in it: a shape of its own that no kernel has.
[[nodiscard]] inline LaunchShape graph_shape(cu::CUgraphExec graph) noexcept {
  return {reinterpret_cast<cu::CUfunction>(graph), {0, 0, 0, 0, 0, 0, ~0u}};
}

// The same launch under the kernel's name: a kernel has several handles, and the one that a graph's node tells need not
// be the one that the program launches. Without a name its function is null. Asks the driver.
[[nodiscard]] LaunchShape named_shape(const LaunchShape& shape) noexcept;

}  // namespace cotenant
