// The key of durations and needs: a kernel or graph and its launch shape.
#pragma once

#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

// A kernel and the shape it is launched in: grid x y z, block x y z, dynamic shared memory in bytes.
struct LaunchShape {
  cu::CUfunction function;
  unsigned of[7];

  // A hash of both, never 0: the key of durations and needs.
  [[nodiscard]] std::uint64_t key() const noexcept;
};

// A graph is one item, whatever it contains. Its shape is one that no kernel has.
[[nodiscard]] inline LaunchShape graph_shape(cu::CUgraphExec graph) noexcept {
  return {reinterpret_cast<cu::CUfunction>(graph), {0, 0, 0, 0, 0, 0, ~0u}};
}

// The same launch, keyed by the kernel's name. A kernel has several handles, and a graph's node may name another than the
// program launches. The function is null if there is no name. Calls the driver.
[[nodiscard]] LaunchShape named_shape(const LaunchShape& shape) noexcept;

}  // namespace cotenant
