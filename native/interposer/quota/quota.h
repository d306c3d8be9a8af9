// The memory quota of a best-effort client: every allocation is charged before it is made, and refused
// with exactly CUDA_ERROR_OUT_OF_MEMORY over the quota (frameworks free their caches and retry on it).
#pragma once

#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

// Whether this process counts its memory at all.
[[nodiscard]] bool quota_counts() noexcept;

// Reserves `bytes`; false: over the quota. Each success is followed by a charge or by `unreserve`.
[[nodiscard]] bool quota_reserve(std::uint64_t bytes) noexcept;
void quota_unreserve(std::uint64_t bytes) noexcept;

// Remembers what `handle` (a pointer or array) holds, so that freeing gives it back, or the end of `context`; null: no
// context ends it.
void quota_charge(std::uint64_t handle, std::uint64_t bytes, cu::CUcontext context) noexcept;
void quota_release(std::uint64_t handle) noexcept;
void quota_context_ended(cu::CUcontext context) noexcept;
// What was allocated in `green` ends with `context`.
void quota_context_joins(cu::CUcontext green, cu::CUcontext context) noexcept;

// Physical memory: it is there until its handle is released as often as it was got, and nothing is mapped to it.
void quota_created(cu::CUmemGenericAllocationHandle handle, std::uint64_t bytes) noexcept;
void quota_mapped(cu::CUdeviceptr address, cu::CUmemGenericAllocationHandle handle) noexcept;
void quota_unmapped(cu::CUdeviceptr address, std::uint64_t bytes) noexcept;
// `handle` was got for what is mapped at `address`.
void quota_retained(cu::CUmemGenericAllocationHandle handle, cu::CUdeviceptr address) noexcept;
void quota_handle_released(cu::CUmemGenericAllocationHandle handle) noexcept;

// What the driver says that graphs' own allocations hold.
void quota_graphs_hold(std::uint64_t bytes) noexcept;
[[nodiscard]] std::uint64_t quota_graphs() noexcept;
// Whether a graph whose nodes allocate `bytes` at the most fits beside all but the graphs.
[[nodiscard]] bool quota_fits_graph(std::uint64_t bytes) noexcept;

// In a forked child: nothing is allocated, and a lock of the parent's threads means nothing.
void quota_forget() noexcept;

// What the client is told instead of the device's own figures. False: tell it those.
[[nodiscard]] bool quota_view(std::uint64_t& free_bytes, std::uint64_t& total_bytes) noexcept;

}  // namespace cotenant
