#include "interposer/movable/block.h"

#include <algorithm>
#include <cstdlib>

#include "interposer/lookup/entry.h"

namespace cotenant {

using namespace cu;

namespace {

std::uint64_t piece_bytes(const Block& block, std::uint32_t i) noexcept {
  return std::min(kPieceBytes, block.bytes - i * kPieceBytes);
}

void release_pieces(const Block& block, std::uint32_t count) noexcept {
  for (std::uint32_t i = 0; i < count; ++i) static_cast<void>(real().cuMemRelease(block.piece[i]));
}

CUresult create_pieces(Block& block) noexcept {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, block.device};
  for (std::uint32_t i = 0; i < block.pieces; ++i) {
    const CUresult made = real().cuMemCreate(&block.piece[i], piece_bytes(block, i), &properties, 0);
    if (made == CUDA_SUCCESS) continue;
    release_pieces(block, i);
    return made;
  }
  return CUDA_SUCCESS;
}

CUresult map_pieces(Block& block) noexcept {
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, block.device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  std::uint64_t mapped = 0;
  CUresult result = CUDA_SUCCESS;
  for (std::uint32_t i = 0; i < block.pieces && result == CUDA_SUCCESS; ++i) {
    result = real().cuMemMap(block.base + i * kPieceBytes, piece_bytes(block, i), 0, block.piece[i], 0);
    if (result == CUDA_SUCCESS) mapped += piece_bytes(block, i);
  }
  if (result == CUDA_SUCCESS) result = real().cuMemSetAccess(block.base, block.bytes, &access, 1);
  if (result != CUDA_SUCCESS && mapped > 0) static_cast<void>(real().cuMemUnmap(block.base, mapped));
  return result;
}

}  // namespace

CUresult make_pieces(Block& block) noexcept {
  CUresult result = create_pieces(block);
  if (result != CUDA_SUCCESS) return result;
  result = map_pieces(block);
  if (result != CUDA_SUCCESS) release_pieces(block, block.pieces);
  block.there = result == CUDA_SUCCESS;
  return result;
}

bool take_pieces(Block& block) noexcept {
  if (!block.there || real().cuMemUnmap(block.base, block.bytes) != CUDA_SUCCESS) return false;
  release_pieces(block, block.pieces);
  block.there = false;
  return true;
}

Block* make_block(CUdevice device, CUcontext context, std::uint64_t bytes, CUresult& result) noexcept {
  const auto& driver = real();
  result = CUDA_ERROR_NOT_SUPPORTED;
  if (!driver.cuMemAddressReserve || !driver.cuMemAddressFree || !driver.cuMemCreate || !driver.cuMemRelease ||
      !driver.cuMemMap || !driver.cuMemUnmap || !driver.cuMemSetAccess)
    return nullptr;
  bytes = (bytes + kGrainBytes - 1) / kGrainBytes * kGrainBytes;
  const auto pieces = static_cast<std::uint32_t>((bytes + kPieceBytes - 1) / kPieceBytes);
  auto* block = static_cast<Block*>(std::calloc(1, sizeof(Block) + pieces * sizeof(CUmemGenericAllocationHandle)));
  if (!block) return nullptr;
  block->bytes = bytes;
  block->device = device;
  block->context = context;
  block->pieces = pieces;
  result = driver.cuMemAddressReserve(&block->base, bytes, 0, 0, 0);
  if (result == CUDA_SUCCESS) {
    result = make_pieces(*block);
    if (result == CUDA_SUCCESS) return block;
    static_cast<void>(driver.cuMemAddressFree(block->base, bytes));
  }
  std::free(block);
  return nullptr;
}

void end_block(Block* block) noexcept {
  if (block->there) static_cast<void>(take_pieces(*block));
  if (!block->there) static_cast<void>(real().cuMemAddressFree(block->base, block->bytes));
  std::free(block->used);
  std::free(block);
}

}  // namespace cotenant
