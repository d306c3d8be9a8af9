// A long kernel launched in a variant that can stop inside: several launches on one counter, with a wait for the hold
// word between them. A request makes the running launch stop after its current blocks. The next launch continues there
// once the pause flag is 0. The last launch does not stop. Launches that are not needed end at once.
#pragma once

#include "interposer/lookup/entry.h"
#include "interposer/state/streams.h"
#include "interposer/variants/variants.h"

namespace cotenant {

// The arguments of cuLaunchKernel.
struct KernelCall {
  LaunchShape shape;
  cu::CUstream stream;
  void** parameters;
  void** extra;
};

// The driver's function for the same family of entry points, so that handle 0 means the same stream.
using LaunchFunction = decltype(cu_entries::Real::cuLaunchKernel);

// True: the kernel was launched, and `result` is the driver's. False: the caller launches it as it is.
[[nodiscard]] bool launch_stoppable(const KernelCall& kernel, NullStream meaning, LaunchFunction launch,
                                    cu::CUresult& result) noexcept;

}  // namespace cotenant
