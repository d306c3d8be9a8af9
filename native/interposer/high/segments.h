// The segments of a high client (state/segment.h): written into a ring, from which the agent learns the client's steps. A
// segment with the main work of a step ends the step: the parameters that depend on the age of a request
// (coRunUntilUs, coRunUntilLaunches) then count from there, whether or not the client's next step is queued already.
#pragma once

#include <cstdint>

#include "interposer/kernels/launch_shape.h"
#include "interposer/state/gpu.h"

namespace cotenant {

// Under HighGpu::lock: a completion was observed and everything that it shows is noted.
void end_segment(Gpu& gpu, std::uint64_t now) noexcept;

// A graph was launched on the stream.
void high_weigh_graph(Stream& stream, const LaunchShape& shape) noexcept;

}  // namespace cotenant
