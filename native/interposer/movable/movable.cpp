#include "interposer/movable/movable.h"

#include <atomic>
#include <cstdlib>

#include "interposer/lookup/beside_captures.h"
#include "interposer/movable/array.h"
#include "interposer/movable/blocks.h"

namespace cotenant {

using namespace cu;

namespace {

// Smaller allocations share a block. The driver, too, gives such ones parts of 2 MiB.
constexpr std::uint64_t kOwnBlockBytes = std::uint64_t{1} << 20;
// Allocations in an arena are rounded up to this; the driver's alignment is 256 bytes at least.
constexpr std::uint64_t kUnitBytes = 512;
constexpr std::uint32_t kUnits = kGrainBytes / kUnitBytes;

struct Granted {
  CUdeviceptr at;
  std::uint64_t asked;
  std::uint64_t id;
  Block* block;
  bool freed;  // by the program; it could not be waited for
};

Array<Granted> entries;  // by address
std::uint64_t ids = 0;
std::atomic<std::uint32_t> kinds{0};
std::atomic<bool> given_to_others{false};

// The first entry above the address.
std::size_t first_above(CUdeviceptr address) noexcept {
  std::size_t low = 0;
  for (std::size_t high = entries.count(); low < high;) {
    const std::size_t middle = (low + high) / 2;
    if (entries[middle].at <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

bool is_used(const Block& arena, std::uint32_t unit) noexcept { return (arena.used[unit / 8] >> unit % 8 & 1) != 0; }

void mark(Block& arena, std::uint32_t from, std::uint32_t count, bool taken) noexcept {
  for (std::uint32_t unit = from; unit < from + count; ++unit) {
    const auto bit = static_cast<std::uint8_t>(1u << unit % 8);
    auto& byte = arena.used[unit / 8];
    byte = static_cast<std::uint8_t>(taken ? byte | bit : byte & ~bit);
  }
  arena.free_units = taken ? arena.free_units - count : arena.free_units + count;
}

// The first free run of this many units; kUnits: there is none.
std::uint32_t find_room(const Block& arena, std::uint32_t count) noexcept {
  std::uint32_t run = 0;
  for (std::uint32_t unit = 0; unit < kUnits; ++unit) {
    run = is_used(arena, unit) ? 0 : run + 1;
    if (run == count) return unit + 1 - count;
  }
  return kUnits;
}

Block* add_block(CUdevice device, CUcontext context, std::uint64_t bytes, CUresult& result) noexcept {
  const BesideCaptures beside;
  Block* block = make_block(device, context, bytes, result);
  if (!block) return nullptr;
  if (blocks_add(block)) return block;
  end_block(block);
  result = CUDA_ERROR_OUT_OF_MEMORY;
  return nullptr;
}

void remove_block(Block* block) noexcept {
  const BesideCaptures beside;
  blocks_remove(block);
  end_block(block);
}

std::uint32_t units_of(std::uint64_t bytes) noexcept {
  return static_cast<std::uint32_t>((bytes + kUnitBytes - 1) / kUnitBytes);
}

// A part of an arena of this context; null with the driver's error.
Block* arena_for(CUdevice device, CUcontext context, std::uint32_t count, std::uint32_t& unit,
                 CUresult& result) noexcept {
  for (std::size_t i = 0; i < blocks_count(); ++i) {
    Block& arena = block_at(i);
    if (!arena.used || arena.context != context || arena.free_units < count) continue;
    unit = find_room(arena, count);
    if (unit < kUnits) return &arena;
  }
  auto* used = static_cast<std::uint8_t*>(std::calloc(1, kUnits / 8));
  Block* arena = used ? add_block(device, context, kGrainBytes, result) : nullptr;
  if (!arena) {
    std::free(used);
    return nullptr;
  }
  arena->used = used;
  arena->free_units = kUnits;
  unit = 0;
  return arena;
}

void end_entry(std::size_t at) noexcept {
  const Granted entry = entries[at];
  entries.remove(at);
  Block& block = *entry.block;
  blocks_ask(block, -static_cast<std::int64_t>(entry.asked));
  if (block.used) {
    mark(block, static_cast<std::uint32_t>((entry.at - block.base) / kUnitBytes), units_of(entry.asked), false);
    if (block.free_units < kUnits) return;
  }
  remove_block(&block);
}

}  // namespace

CUresult movable_allocate(CUdevice device, CUcontext context, std::uint64_t bytes, CUdeviceptr& made) noexcept {
  const HeldBlocks held;
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  std::uint32_t unit = 0;
  const bool shares = bytes < kOwnBlockBytes;
  Block* block =
      shares ? arena_for(device, context, units_of(bytes), unit, result) : add_block(device, context, bytes, result);
  if (!block) return result == CUDA_ERROR_OUT_OF_MEMORY ? result : CUDA_ERROR_NOT_SUPPORTED;
  const CUdeviceptr at = block->base + unit * kUnitBytes;
  if (!entries.insert(first_above(at), {at, bytes, ++ids, block, false})) {
    if (!shares || block->free_units == kUnits) remove_block(block);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (shares) mark(*block, unit, units_of(bytes), true);
  blocks_ask(*block, static_cast<std::int64_t>(bytes));
  made = at;
  return CUDA_SUCCESS;
}

bool movable_find(CUdeviceptr pointer, MovableAllocation& found) noexcept {
  const HeldBlocks held;
  const std::size_t above = first_above(pointer);
  if (above == 0) return false;
  const Granted& entry = entries[above - 1];
  if (entry.freed || pointer - entry.at >= entry.asked) return false;
  found = {entry.at, entry.asked, entry.id, entry.block->context};
  return true;
}

void movable_free(CUdeviceptr pointer, bool later) noexcept {
  const HeldBlocks held;
  const std::size_t above = first_above(pointer);
  if (above == 0 || entries[above - 1].at != pointer) return;
  if (later) entries[above - 1].freed = true;
  else end_entry(above - 1);
}

void movable_free_late(CUcontext context) noexcept {
  const HeldBlocks held;
  for (std::size_t i = 0; i < entries.count();)
    if (entries[i].freed && entries[i].block->context == context) end_entry(i);
    else ++i;
}

void movable_context_ended(CUcontext context) noexcept {
  const HeldBlocks held;
  for (std::size_t i = 0; i < entries.count();)
    if (entries[i].block->context == context) end_entry(i);
    else ++i;
}

void note_unmovable(protocol::Unmovable kind) noexcept {
  const auto bit = static_cast<std::uint32_t>(kind);
  if ((kinds.load(std::memory_order_relaxed) & bit) == 0) kinds.fetch_or(bit, std::memory_order_relaxed);
}

void note_given_to_others() noexcept { given_to_others.store(true, std::memory_order_relaxed); }

bool is_given_to_others() noexcept { return given_to_others.load(std::memory_order_relaxed); }

std::uint32_t unmovable_kinds() noexcept { return kinds.load(std::memory_order_relaxed); }

void forget_movable() noexcept {
  entries.forget();
  kinds.store(0, std::memory_order_relaxed);
  given_to_others.store(false, std::memory_order_relaxed);
}

}  // namespace cotenant
