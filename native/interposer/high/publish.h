// Publishes facts of a high client's work besides that it is busy: the needs of its kernels and graphs, if the policy
// asks for them, and its copies over PCIe.
#pragma once

#include "interposer/agent/link.h"
#include "interposer/state/streams.h"
#include "interposer/state/submission.h"

namespace cotenant {

// Publishes the needs of the kernel or graph that is launched, if the policy asks for them. Class and duration come
// from the profile, if there is one.
void high_publish_kernel(const Stream& stream, const Submission& submission) noexcept;

// A graph was made executable. When each of its kernels begins can't be seen from here. So the whole graph gets the
// class in which its kernels spend most of their time according to the profile, and the SMs of its widest kernel.
void high_publish_graph(cu::CUgraphExec exec, cu::CUgraph graph) noexcept;

// Publishes that a copy over PCIe has begun. It counts as in flight for its expected time. A copy to the host comes
// after the kernels, so it counts until it was observed to be complete.
void high_publish_copy(Stream& stream, const Submission& submission) noexcept;
// A copy that blocked its caller is over.
void high_end_copy(Stream& stream) noexcept;
// All copies are over.
void end_copies(const Link& link) noexcept;

}  // namespace cotenant
