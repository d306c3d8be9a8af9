// Borders: what divides a stream's work into chunks, and what the GPU writes when it gets there.
#pragma once

#include "interposer/gpu.h"

namespace cotenant {

enum class Border { kMarkAndWait, kMarkOnly };

// The hold and mark pages of this link as this context's GPU sees them; registers them at first use.
// False: this driver can't, and gating goes launch by launch.
[[nodiscard]] bool map_pages(Context& context, const Link& link) noexcept;

// What a stream or a graph is told to do: write a word; wait until this client's hold word is 0. After map_pages().
[[nodiscard]] cu::CUstreamBatchMemOpParams write_word(cu::CUdeviceptr at, std::uint32_t value) noexcept;
[[nodiscard]] cu::CUstreamBatchMemOpParams wait_for_release(const Context& context, const Link& link) noexcept;
// Written where the GPU comes to a gate in a graph, with a number that the next gate does not have.
[[nodiscard]] cu::CUdeviceptr gate_word(const Context& context) noexcept;
[[nodiscard]] std::uint32_t last_gate(const Link& link) noexcept;
// Where the GPU finds that hold word.
[[nodiscard]] cu::CUdeviceptr hold_word(const Context& context, const Link& link) noexcept;

// Puts a border behind what `stream` has now. From the application's thread, not while capturing.
bool put_border(Stream& stream, const Link& link, Border border) noexcept;

// A mark behind what every stream has now: before waiting for work to finish, so that its end is seen.
void mark_open_lanes(const Gpu& gpu, const Link& link) noexcept;

// Takes over what the GPU has written for this stream.
void read_mark(Stream& stream, const Link& link) noexcept;

}  // namespace cotenant
