// The memory quota of a best-effort client: every allocation is charged before it is made, and refused
// with exactly CUDA_ERROR_OUT_OF_MEMORY over the quota (frameworks free their caches and retry on it).
#pragma once

#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

// Whether this process counts its memory at all.
[[nodiscard]] bool quota_counts() noexcept;

// Tells the agent what is used, allowed and was refused. For a process that comes to its slot late: every allocation tells, too.
void quota_publish() noexcept;

// Reserves `bytes`; false: over the quota. Each success is followed by a charge or by `unreserve`.
[[nodiscard]] bool quota_reserve(std::uint64_t bytes) noexcept;
void quota_unreserve(std::uint64_t bytes) noexcept;

// Records the bytes that `handle` (a pointer or array) holds. Freeing it, or the end of `context`, gives them back. If
// `context` is null, the memory does not end with a context.
void quota_charge(std::uint64_t handle, std::uint64_t bytes, cu::CUcontext context) noexcept;
void quota_release(std::uint64_t handle) noexcept;
void quota_context_ended(cu::CUcontext context) noexcept;
// Memory that was allocated in the green context `green` ends with `context`.
void quota_context_joins(cu::CUcontext green, cu::CUcontext context) noexcept;

// Physical memory. It exists until each handle obtained for it is released and no address is mapped to it.
void quota_note_created(cu::CUmemGenericAllocationHandle handle, std::uint64_t bytes) noexcept;
void quota_note_mapped(cu::CUdeviceptr address, cu::CUmemGenericAllocationHandle handle) noexcept;
void quota_note_unmapped(cu::CUdeviceptr address, std::uint64_t bytes) noexcept;
// The program obtained `handle` for the memory that is mapped at `address`.
void quota_note_retained(cu::CUmemGenericAllocationHandle handle, cu::CUdeviceptr address) noexcept;
void quota_note_handle_released(cu::CUmemGenericAllocationHandle handle) noexcept;

// Sets the bytes that the graphs' own allocations hold, as the driver reports them.
void quota_graphs_hold(std::uint64_t bytes) noexcept;
[[nodiscard]] std::uint64_t quota_graphs() noexcept;
// Whether a graph whose nodes allocate at most `bytes` fits beside everything except other graphs.
[[nodiscard]] bool quota_fits_graph(std::uint64_t bytes) noexcept;

// In a forked child, which has no allocations. A lock that a thread of the parent held is reset.
void quota_forget() noexcept;

// The memory sizes to report to the client instead of the device's own. False: report the device's own.
[[nodiscard]] bool quota_view(std::uint64_t& free_bytes, std::uint64_t& total_bytes) noexcept;

}  // namespace cotenant
