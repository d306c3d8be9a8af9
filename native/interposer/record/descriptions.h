// Descriptions of the kernels and the device in a recording. The driver is asked when a kernel has run, so that the
// recording never makes it load code.
#pragma once

#include "interposer/record/tape.h"

namespace cotenant::record {

// The device of the current context.
void describe_device() noexcept;

// Two threads may describe one kernel at once, because the driver tells both the same.
void describe(Kernel& kernel) noexcept;

// The kernels of a graph that has run.
void describe_kernels_of(Graph& graph) noexcept;

}  // namespace cotenant::record
