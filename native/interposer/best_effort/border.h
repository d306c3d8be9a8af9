// Preemption points divide a stream's work into chunks. A preemption point is a mark followed by a wait for the client's pause flag.
#pragma once

#include "interposer/best_effort/marks.h"
#include "interposer/state/gpu.h"
#include "interposer/state/pages.h"

namespace cotenant {

// Operations for a stream or a graph: write a word; wait until this client's pause flag is 0. Valid after map_pages().
[[nodiscard]] cu::CUstreamBatchMemOpParams write_word(cu::CUdeviceptr at, std::uint32_t value) noexcept;
[[nodiscard]] cu::CUstreamBatchMemOpParams wait_for_release(const Context& context) noexcept;

// Puts a preemption point behind the work that `stream` has now. Called on the application's thread, and not while the stream is
// captured. False: no preemption point could be put there now, so this launch must be gated by itself. A later launch tries
// again.
[[nodiscard]] bool put_border(Stream& stream, const Link& link) noexcept;

// Ends the current chunk: later work belongs to the next one.
void close_chunk(Stream& stream, const Link& link, bool waits) noexcept;

}  // namespace cotenant
