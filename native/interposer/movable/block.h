// A block of movable memory: an address range that the program keeps, and the pieces of physical memory behind it, which
// can be taken away and made again.
#pragma once

#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

// The driver maps whole pieces, so small ones cost time: with pieces of 2 MiB unmapping took ten times as long as with
// 64 MiB, and copies were 7 % slower (docs/design/decisions/0017). The last piece of a block is only as large as needed.
inline constexpr std::uint64_t kPieceBytes = std::uint64_t{64} << 20;
// The driver's granularity of physical memory, on every GPU so far.
inline constexpr std::uint64_t kGrainBytes = std::uint64_t{2} << 20;

struct OwnMemory;

struct Block {
  cu::CUdeviceptr base;  // of own memory: valid while its window is open
  std::uint64_t bytes;  // a multiple of kGrainBytes
  std::uint64_t asked;  // bytes that the program asked for in it
  cu::CUdevice device;
  cu::CUcontext context;  // the one that it was allocated in, and ends with; own memory does not end: null then
  bool there;  // its pieces exist and are mapped
  bool parked;  // its content is in the pool
  bool leaves;  // it is chosen to be parked
  bool rdma;  // it was made for GPUDirect RDMA
  std::uint64_t host_at;  // where; valid if it leaves or is parked
  OwnMemory* own;  // the program has made and mapped it itself (own_memory.h), and it has no pieces
  std::uint8_t* used;  // of an arena: a bit per unit; null: one allocation has the block
  std::uint32_t free_units;
  std::uint32_t pieces;
  cu::CUmemGenericAllocationHandle piece[];
};

// Reserves addresses and makes the memory. Null with the driver's error if it cannot be had.
[[nodiscard]] Block* make_block(cu::CUdevice device, cu::CUcontext context, std::uint64_t bytes,
                                cu::CUresult& result) noexcept;
void end_block(Block* block) noexcept;

// Takes the physical memory away; the addresses stay. False: the driver refused, and the memory is still there.
[[nodiscard]] bool take_pieces(Block& block) noexcept;
// Makes physical memory under the block's addresses; its content is undefined. If it fails, nothing is left of it.
[[nodiscard]] cu::CUresult make_pieces(Block& block) noexcept;

}  // namespace cotenant
