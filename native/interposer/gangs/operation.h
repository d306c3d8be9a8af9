// Puts the two ends of an operation into its streams: before NCCL's kernels a write that the rank has arrived and a wait for
// the commit, after them a write that they are done.
#pragma once

#include "interposer/gangs/communicators.h"
#include "interposer/state/gpu.h"

namespace cotenant::gangs {

struct PartOf {
  std::uint64_t lane;
  std::uint64_t number;
  std::uint64_t communicator;
  std::uint32_t members;
};

// The parts that one call, or one group, launches.
struct Launch {
  std::uint32_t parts{0};
  std::uint32_t streams{0};
  cu::CUstream stream[kStreams]{};
  PartOf part[kParts];
};

// Why it can't be committed; null: it can, and NCCL's call may follow. The ticket is of the operation then.
[[nodiscard]] const char* begin(Block& block, const Launch& launch, std::uint32_t& ticket) noexcept;
// After NCCL's call. `launched`: it has succeeded.
void end(Block& block, const Launch& launch, std::uint32_t ticket, bool launched) noexcept;

// The communicator is aborted: this rank's operations wait for no commit any more.
void release_operations(Block& block, std::uint64_t communicator) noexcept;

void forget_operations() noexcept;  // in a forked child

}  // namespace cotenant::gangs
