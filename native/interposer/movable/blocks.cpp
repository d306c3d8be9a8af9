#include "interposer/movable/blocks.h"

#include <pthread.h>

#include <algorithm>

#include "interposer/movable/array.h"
#include "interposer/movable/movable.h"
#include "interposer/movable/rdma.h"

namespace cotenant {
namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
Array<Block*> blocks;
MovableBytes all{};

}  // namespace

HeldBlocks::HeldBlocks() noexcept { pthread_mutex_lock(&mutex); }
HeldBlocks::~HeldBlocks() { pthread_mutex_unlock(&mutex); }

bool blocks_add(Block* block) noexcept {
  if (!blocks.insert(blocks.count(), block)) return false;
  all.physical += block->bytes;
  all.asked += block->asked;
  return true;
}

void blocks_remove(const Block* block) noexcept {
  for (std::size_t i = blocks.count(); i-- > 0;) {
    if (blocks[i] != block) continue;
    all.physical -= block->bytes;
    all.asked -= block->asked;
    return blocks.remove(i);
  }
}

void blocks_ask(Block& block, std::int64_t more) noexcept {
  block.asked += static_cast<std::uint64_t>(more);
  all.asked += static_cast<std::uint64_t>(more);
}

std::size_t blocks_count() noexcept { return blocks.count(); }
Block& block_at(std::size_t i) noexcept { return *blocks[i]; }

std::uint64_t choose_blocks(std::uint64_t bytes) noexcept {
  const bool rdma = has_rdma_device();
  const HeldBlocks held;
  const auto may_leave = [&](const Block& block) { return !block.parked && !(rdma && block.rdma); };
  const std::size_t count = blocks.count();
  if (count == 0) return 0;
  std::uint64_t used = 0;  // of the pool
  std::uint64_t parked = 0;
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i]->leaves = false;
    if (!blocks[i]->parked) continue;
    used = std::max(used, blocks[i]->host_at + blocks[i]->bytes);
    parked += blocks[i]->bytes;
  }
  std::sort(&blocks[0], &blocks[0] + count, [](const Block* one, const Block* other) {
    return one->bytes < other->bytes || (one->bytes == other->bytes && one->base < other->base);
  });
  const auto take = [&](Block& block) {
    block.leaves = true;
    block.host_at = used;
    used += block.bytes;
    parked += block.bytes;
  };
  Block* larger = nullptr;  // not taken yet: the next one may be enough
  for (std::size_t i = count; i-- > 0 && (bytes == 0 || parked < bytes);) {
    Block& block = *blocks[i];
    if (rdma && block.rdma) note_unmovable(protocol::Unmovable::kMapped);
    if (!may_leave(block)) continue;
    const bool is_enough = bytes != 0 && parked + block.bytes >= bytes;
    if (larger && !is_enough) take(*larger);
    larger = &block;
  }
  if (larger && (bytes == 0 || parked < bytes)) take(*larger);
  return used;
}

MovableBytes movable_bytes() noexcept {
  const HeldBlocks held;
  return all;
}

std::uint64_t bytes_parked() noexcept {
  const HeldBlocks held;
  std::uint64_t parked = 0;
  for (std::size_t i = 0; i < blocks.count(); ++i)
    if (blocks[i]->parked) parked += blocks[i]->bytes;
  return parked;
}

std::uint64_t pool_used() noexcept {
  const HeldBlocks held;
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < blocks.count(); ++i)
    if (blocks[i]->parked) used = std::max(used, blocks[i]->host_at + blocks[i]->bytes);
  return used;
}

void each_block(bool (*use)(Block& block, void* with), void* with) noexcept {
  const HeldBlocks held;
  for (std::size_t i = 0; i < blocks.count(); ++i)
    if (!use(*blocks[i], with)) return;
}

void forget_blocks() noexcept {
  pthread_mutex_init(&mutex, nullptr);
  blocks.forget();
  all = {};
}

}  // namespace cotenant
