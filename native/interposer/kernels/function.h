// What a launch takes for a kernel: a function, which belongs to a context, or a kernel, which belongs to a
// library. Both as a function, and the name the driver has for it, mangled.
#pragma once

#include "driver/abi.h"
#include "interposer/kernels/occupancy.h"

namespace cotenant {

struct NamedFunction {
  cu::CUfunction function;  // null: the driver does not know the handle
  const char* name;         // the driver's own text, gone when the code is unloaded; null: it has none
};

// Asks the driver: not while a stream is captured, unless it is shielded from that.
[[nodiscard]] NamedFunction named_function(cu::CUfunction handle) noexcept;

// The same launch under the kernel's name: a kernel has several handles, and the one that a graph's node tells need not
// be the one that the program launches. Without a name its function is null. Asks the driver.
[[nodiscard]] LaunchShape named_shape(const LaunchShape& shape) noexcept;

}  // namespace cotenant
