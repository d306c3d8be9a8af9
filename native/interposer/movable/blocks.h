// All blocks of this client, and what the parking thread does with them: it counts, chooses and visits them.
#pragma once

#include <cstdint>

#include "interposer/movable/block.h"

namespace cotenant {

// Exists while the calling thread looks at blocks or at what is allocated in them. Not to be nested.
class HeldBlocks {
 public:
  HeldBlocks() noexcept;
  ~HeldBlocks();
  HeldBlocks(const HeldBlocks&) = delete;
  HeldBlocks& operator=(const HeldBlocks&) = delete;
};

// While they are held. False: out of memory.
[[nodiscard]] bool blocks_add(Block* block) noexcept;
void blocks_remove(const Block* block) noexcept;
// The program asks for more bytes in a block, or for fewer.
void blocks_ask(Block& block, std::int64_t more) noexcept;
[[nodiscard]] std::size_t blocks_count() noexcept;
[[nodiscard]] Block& block_at(std::size_t i) noexcept;

// Chooses blocks to be parked until `bytes` are, those that are parked already included; 0: all. The largest first, the last
// one the smallest that is enough. Gives them places in the pool, and returns how much of the pool is used then.
[[nodiscard]] std::uint64_t choose_blocks(std::uint64_t bytes) noexcept;

struct MovableBytes {
  std::uint64_t physical;  // of all blocks
  std::uint64_t asked;  // by the program
};
[[nodiscard]] MovableBytes movable_bytes() noexcept;
// The part of it that is in host memory. Looks at each block.
[[nodiscard]] std::uint64_t bytes_parked() noexcept;
// Where in the pool the last block that is parked ends. Looks at each block.
[[nodiscard]] std::uint64_t pool_used() noexcept;

// Calls `use` with each block, until it returns false. No block is made or ended meanwhile.
void each_block(bool (*use)(Block& block, void* with), void* with) noexcept;
template <class Use>
void each_block(Use use) noexcept {
  each_block([](Block& block, void* with) { return (*static_cast<Use*>(with))(block); }, &use);
}

void forget_blocks() noexcept;  // in a forked child

}  // namespace cotenant
