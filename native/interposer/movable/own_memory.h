// Physical memory that the program makes and maps itself (cuMemCreate, cuMemMap: PyTorch's expandable segments, vLLM's
// sleep mode). Its physical memory is made again when it returns, so the program's handles are values of ours. Each
// piece is a block as well, by which it is counted, chosen and copied.
#pragma once

#include <cstdint>

#include "driver/abi.h"
#include "interposer/movable/block.h"

namespace cotenant {

// One mapping of a piece. It exists while the piece is parked, too.
struct OwnMapping {
  cu::CUdeviceptr at;
  std::uint64_t bytes;
  std::uint64_t offset;  // in the physical memory
  OwnMemory* memory;
  OwnMapping* next;  // of the same memory
  unsigned long long ids[2];  // the driver's first answers (own_id); 0: not asked yet
};

struct OwnMemory {
  cu::CUmemGenericAllocationHandle handle;  // the program's
  cu::CUmemGenericAllocationHandle real;  // the driver's
  cu::CUmemAllocationProp properties;
  std::uint64_t bytes;
  std::uint64_t references;  // how many cuMemRelease it still needs
  OwnMapping* mappings;
  Block* block;  // null: it stays on the GPU
};

// Whether physical memory like this can be made again so that nobody notices.
[[nodiscard]] bool own_can_move(const cu::CUmemAllocationProp& properties) noexcept;

// As the driver's functions. The caller waits while memory is moved (TouchesMemory). True: the handle or the address is
// of this memory, and `result` is the answer; false: the driver should be asked.
[[nodiscard]] cu::CUresult own_create(cu::CUmemGenericAllocationHandle& handle, std::uint64_t bytes,
                                      const cu::CUmemAllocationProp& properties, cu::CUcontext context) noexcept;
[[nodiscard]] bool own_release(cu::CUmemGenericAllocationHandle handle, cu::CUresult& result) noexcept;
[[nodiscard]] bool own_retain(cu::CUdeviceptr address, cu::CUmemGenericAllocationHandle* handle,
                              cu::CUresult& result) noexcept;
[[nodiscard]] bool own_map(cu::CUdeviceptr at, std::uint64_t bytes, std::uint64_t offset,
                           cu::CUmemGenericAllocationHandle handle, unsigned long long flags,
                           cu::CUresult& result) noexcept;
// A range may hold other mappings as well: these two ask the driver themselves.
[[nodiscard]] cu::CUresult own_unmap(cu::CUdeviceptr at, std::uint64_t bytes) noexcept;
[[nodiscard]] cu::CUresult own_set_access(cu::CUdeviceptr at, std::uint64_t bytes, const cu::CUmemAccessDesc* access,
                                          std::size_t count) noexcept;

// The driver's handle for a handle of the program; any other handle is returned as it is.
[[nodiscard]] cu::CUmemGenericAllocationHandle own_real(cu::CUmemGenericAllocationHandle handle) noexcept;
// Others than this process may use it from now on, so it stays on the GPU.
void own_stays(cu::CUmemGenericAllocationHandle handle) noexcept;
void own_stays(cu::CUdeviceptr at, std::uint64_t bytes) noexcept;

// The number of a buffer, or of its memory, that the driver gave before the memory was made again; 0: it was not.
[[nodiscard]] unsigned long long own_id(cu::CUdeviceptr address, cu::CUpointer_attribute attribute) noexcept;

// For the parking thread, in each_block() and while the client is closed. As take_pieces() and make_pieces().
[[nodiscard]] bool take_own(Block& block) noexcept;
[[nodiscard]] cu::CUresult make_own(Block& block) noexcept;
// Sets the access of mappings of parked memory as the program has set it. All of that must be there. Not in each_block().
[[nodiscard]] cu::CUresult restore_access() noexcept;
// Lets block.base be an address by which all of the memory can be copied: the program's, or else one of ours. False: the
// driver refused that, and it is 0.
[[nodiscard]] bool open_window(Block& block) noexcept;
void close_window(Block& block) noexcept;

void forget_own_memory() noexcept;  // in a forked child

}  // namespace cotenant
