// Movable memory of a client that was started with --movable or --park-after: what cuMemAlloc returns comes from blocks
// (block.h), so that the memory behind it can be parked in host memory and returned under the same addresses.
#pragma once

#include <cstdint>

#include "driver/abi.h"
#include "interposer/process/process.h"

namespace cotenant {

// As cuMemAlloc, in `context` on `device`. CUDA_ERROR_NOT_SUPPORTED: not from pieces, and the driver should be asked.
[[nodiscard]] cu::CUresult movable_allocate(cu::CUdevice device, cu::CUcontext context, std::uint64_t bytes,
                                            cu::CUdeviceptr& made) noexcept;

struct MovableAllocation {
  cu::CUdeviceptr at;
  std::uint64_t bytes;  // as asked for
  std::uint64_t id;  // never reused
  cu::CUcontext context;
};
// The allocation that `pointer` points into. False: it is no movable memory.
[[nodiscard]] bool movable_find(cu::CUdeviceptr pointer, MovableAllocation& found) noexcept;

// Frees the allocation that begins there, whose work is done. `later`: a capture is open, so the caller could not wait for
// its work; the memory stays until movable_free_late().
void movable_free(cu::CUdeviceptr pointer, bool later) noexcept;
// Frees what could not be freed before. Called when the work of `context` is done.
void movable_free_late(cu::CUcontext context) noexcept;

// Memory of a context ends with it. Called after the driver has ended the context.
void movable_context_ended(cu::CUcontext context) noexcept;

// Notes memory that cannot be moved, for the status.
void note_unmovable(protocol::Unmovable kind) noexcept;
// The program has let other processes use memory of it.
void note_given_to_others() noexcept;
[[nodiscard]] bool is_given_to_others() noexcept;

[[nodiscard]] std::uint32_t unmovable_kinds() noexcept;

void forget_movable() noexcept;  // in a forked child

}  // namespace cotenant
