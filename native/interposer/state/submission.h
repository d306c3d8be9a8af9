// What the application is about to submit, as both classes look at it.
#pragma once

#include <cstdint>

#include "interposer/kernels/estimate.h"
#include "interposer/kernels/launch_shape.h"

namespace cotenant {

// Whether a copy crosses PCIe, and towards whom.
enum class Bus { kNone, kIn, kOut };

// What is about to be submitted. The time of kernels and graphs is learned by their shape, that of a graph's part where
// the part is kept; that of copies follows from their size.
struct Submission {
  enum class Kind { kKernel, kGraph, kGraphPart, kCopy } kind;
  std::uint64_t copy_ns;
  const LaunchShape* shape;  // null: a copy, or a part
  Bus bus{Bus::kNone};
  Estimate* estimate{nullptr};  // of a part
};

}  // namespace cotenant
