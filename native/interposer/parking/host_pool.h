// Host memory to which this client's GPU memory is parked: private to the process, so that no other tenant can read it;
// pinned ahead by the parking thread, because pinning while others wait would take longer than the copy. Only the parking
// thread uses it.
#pragma once

#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

// Why something is not done, for people. Empty: nothing is wrong.
struct Reason {
  char text[128];
};
void give_reason(Reason& reason, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

// Bytes that are pinned.
[[nodiscard]] std::uint64_t pool_bytes() noexcept;

// Pins one more chunk, in the current context. False, with the reason: it cannot be had.
[[nodiscard]] bool pool_grow(std::uint64_t needed, Reason& reason) noexcept;
// Gives back chunks that `needed` bytes do not use.
void pool_shrink(std::uint64_t needed) noexcept;

// The host's address of a byte of the pool, and how many bytes follow it there.
[[nodiscard]] char* pool_at(std::uint64_t offset, std::uint64_t& contiguous) noexcept;

// The context in which the chunks are registered has ended, and their registrations with it. `in_use`: what is parked in
// them belongs to other contexts; they stay, unpinned, and are stale.
void pool_lost_context(bool in_use) noexcept;
[[nodiscard]] bool pool_is_stale() noexcept;

void forget_pool() noexcept;  // in a forked child

}  // namespace cotenant
