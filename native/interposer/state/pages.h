// The pages of shared memory that the GPU reads and writes: pause flags and marks, registered with the driver.
#pragma once

#include <atomic>
#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

struct Context;
struct Link;

// The pages of one link in one context. Each context registers mappings of its own, because a registration ends with
// the context in which it was made, and that must not end the marks of another context.
struct ContextPages {
  std::atomic<const Link*> of{nullptr};  // the link they belong to; null: not registered now
  std::atomic<bool> busy{false};         // a thread registers them
  std::atomic<std::uint64_t> retry_ns{0};  // the driver refused: not again before
  const Link* mapped{nullptr};  // the two mappings that are registered
  void* hold_page{nullptr};
  void* mark_page{nullptr};
  cu::CUdeviceptr hold{0};
  cu::CUdeviceptr marks{0};
};

// The number of streams with a word for marks: the words of a page but one, which the gates of graphs write.
inline constexpr std::uint32_t kMarkWords = 1023;

// Registers the pages of this link with the driver for this context, unless they are registered. False: the driver
// refuses, or another thread is registering them. Then no work can be made to wait for the pause flag.
[[nodiscard]] bool map_pages(Context& context, const Link& link) noexcept;

// The driver is about to destroy the context, and with it the registrations.
void pages_end(ContextPages& pages) noexcept;

// Addresses for the GPU, valid after map_pages(): of this client's pause flag; of the word in which the GPU writes how far
// stream `index` has come; and of the word that it writes at each gate in a graph, with a number that differs from gate to
// gate.
[[nodiscard]] cu::CUdeviceptr hold_word(const Context& context) noexcept;
[[nodiscard]] cu::CUdeviceptr mark_word(const Context& context, std::uint32_t index) noexcept;
[[nodiscard]] cu::CUdeviceptr gate_word(const Context& context) noexcept;

// The last mark that the GPU has written.
[[nodiscard]] std::uint32_t last_mark(const Link& link, std::uint32_t index) noexcept;
[[nodiscard]] std::uint32_t last_gate(const Link& link) noexcept;

}  // namespace cotenant
