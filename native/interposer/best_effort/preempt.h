// A long kernel launched in a variant that can stop inside: a few launches of it on one counter, with a wait for the hold
// word between them. A request stops the one that runs at the end of its blocks; the next one goes on where it
// stopped, when it is let; the last one does not stop. What was not needed ends as soon as it begins.
#pragma once

#include "interposer/lookup/entry.h"
#include "interposer/state/streams.h"
#include "interposer/variants/variants.h"

namespace cotenant {

// A launch as cuLaunchKernel is given it.
struct KernelCall {
  LaunchShape shape;
  cu::CUstream stream;
  void** parameters;
  void** extra;
};

// The driver's function that launches in the same way, and thus in the same stream.
using LaunchFunction = decltype(cu_entries::Real::cuLaunchKernel);

// True: the kernel was launched, with `result`. False: launch it as it is.
[[nodiscard]] bool launch_stoppable(const KernelCall& kernel, NullStream meaning, LaunchFunction launch,
                                    cu::CUresult& result) noexcept;

}  // namespace cotenant
