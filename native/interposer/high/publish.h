// What a high client publishes of its work beside the fact that it is busy: the needs of its kernels and graphs, where
// the policy asks for them, and its copies over PCIe.
#pragma once

#include "interposer/state/streams.h"
#include "interposer/state/submission.h"

namespace cotenant {

// Publishes what the kernel or graph being launched needs, where the policy asks for it. Class and duration are the
// profile's, if there is one.
void high_publish_kernel(const Stream& stream, const Submission& submission) noexcept;

// A graph was made. When one of its kernels begins is not to be seen from here, so all of it has the class in
// which, by the profile, its kernels spend most of their time, and the SMs of the widest of them.
void high_publish_graph(cu::CUgraphExec exec, cu::CUgraph graph) noexcept;

// Publishes a copy over PCIe that was just begun: in flight for as long as it is expected to take, one to the
// host, which comes after the kernels, until it has been seen to be complete.
void high_publish_copy(Stream& stream, const Submission& submission) noexcept;
// A copy that held up its caller is over.
void high_end_copy(Stream& stream) noexcept;

}  // namespace cotenant
