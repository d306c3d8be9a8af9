// Work that the application is about to submit, as both classes see it.
#pragma once

#include <cstdint>

#include "interposer/kernels/estimate.h"
#include "interposer/kernels/launch_shape.h"

namespace cotenant {

// Whether a copy crosses PCIe, and towards whom.
enum class Bus { kNone, kIn, kOut };

// One submission. The time of kernels and graphs is learned by their shape, that of a graph's part in its own estimate.
// The time of a copy follows from its size.
struct Submission {
  enum class Kind { kKernel, kGraph, kGraphPart, kCopy } kind;
  std::uint64_t copy_ns;
  const LaunchShape* shape;  // null: a copy, or a part
  Bus bus{Bus::kNone};
  Estimate* estimate{nullptr};  // of a part
};

}  // namespace cotenant
