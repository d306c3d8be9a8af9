// What a launch takes for a kernel: a function, which belongs to a context, or a kernel, which belongs to a
// library. Both as a function, and the name the driver has for it, mangled.
#pragma once

#include "driver/abi.h"

namespace cotenant {

struct NamedFunction {
  cu::CUfunction function;  // null: the driver does not know the handle
  const char* name;         // the driver's own text, gone when the code is unloaded; null: it has none
};

// Asks the driver: not while a stream is captured, unless it is shielded from that.
[[nodiscard]] NamedFunction named_function(cu::CUfunction handle) noexcept;

}  // namespace cotenant
