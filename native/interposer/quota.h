// The memory quota of a best-effort client: every allocation is charged before it is made, and refused
// with exactly CUDA_ERROR_OUT_OF_MEMORY over the quota (frameworks free their caches and retry on it).
#pragma once

#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

// Whether this process counts its memory at all.
[[nodiscard]] bool quota_counts() noexcept;

// Reserves `bytes`; false: over the quota. Each success is followed by `charge` or `uncharge`.
[[nodiscard]] bool quota_reserve(std::uint64_t bytes) noexcept;
void quota_unreserve(std::uint64_t bytes) noexcept;

// Remembers what `handle` (a pointer, array or allocation handle) holds, so that freeing gives it back.
void quota_charge(std::uint64_t handle, std::uint64_t bytes) noexcept;
void quota_release(std::uint64_t handle) noexcept;

// In a forked child: nothing is allocated, and a lock of the parent's threads means nothing.
void quota_forget() noexcept;

// What the client is told instead of the device's own figures. False: tell it those.
[[nodiscard]] bool quota_view(std::uint64_t& free_bytes, std::uint64_t& total_bytes) noexcept;

}  // namespace cotenant
