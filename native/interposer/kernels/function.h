// A launch accepts a function, which belongs to a context, or a kernel, which belongs to a library. Both are resolved to a
// function and its mangled name.
#pragma once

#include "driver/abi.h"

namespace cotenant {

struct NamedFunction {
  cu::CUfunction function;  // null: the driver does not know the handle
  const char* name;  // owned by the driver, valid until the code is unloaded; null: none
};

// Calls the driver. During a stream capture only within BesideCaptures.
[[nodiscard]] NamedFunction named_function(cu::CUfunction handle) noexcept;

}  // namespace cotenant
