// This process as a rank of a gang.
#pragma once

#include "interposer/gangs/block.h"

namespace cotenant::gangs {

// libcotenant-nccl.so is loaded: the program's NCCL calls are seen.
void note_nccl_is_seen() noexcept;
[[nodiscard]] bool nccl_is_seen() noexcept;

// Why this best-effort process, which a launcher calls a rank, can't be one of a gang; null: it can.
[[nodiscard]] const char* why_no_member() noexcept;

// The gang's block, which the first call joins. Null: this process is no rank of a gang, or can't be one.
[[nodiscard]] Block* gang_block() noexcept;
[[nodiscard]] Rank& own_rank(Block& block) noexcept;
// The block's file, for further mappings of its pages.
[[nodiscard]] int block_file() noexcept;

// Another operation was launched: the decider looks.
void wake_decider(Block& block) noexcept;

void forget_member() noexcept;  // in a forked child

}  // namespace cotenant::gangs
