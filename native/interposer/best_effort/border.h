// Borders: what divides a stream's work into chunks. A border is a mark, and a wait for the client's hold word.
#pragma once

#include "interposer/best_effort/marks.h"
#include "interposer/state/gpu.h"
#include "interposer/state/pages.h"

namespace cotenant {

// What a stream or a graph is told to do: write a word; wait until this client's hold word is 0. After map_pages().
[[nodiscard]] cu::CUstreamBatchMemOpParams write_word(cu::CUdeviceptr at, std::uint32_t value) noexcept;
[[nodiscard]] cu::CUstreamBatchMemOpParams wait_for_release(const Context& context, const Link& link) noexcept;

// Puts a border behind what `stream` has now. From the application's thread, not while the stream is captured. False: it
// can't be had now, and this launch must be gated by itself; it is tried again.
[[nodiscard]] bool put_border(Stream& stream, const Link& link) noexcept;

// What comes next belongs to another chunk.
void close_chunk(Stream& stream, const Link& link, bool waits) noexcept;

}  // namespace cotenant
