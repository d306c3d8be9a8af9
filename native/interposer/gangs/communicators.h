// NCCL's communicators in this process. All ranks of one name it by the same key, and number its operations alike.
#pragma once

#include "interposer/gangs/member.h"

namespace cotenant::gangs {

using Handle = void*;  // ncclComm_t

struct Identity {  // ncclUniqueId
  char internal[128];
};

struct Known {
  std::atomic<Handle> handle{nullptr};
  std::uint64_t key{0};
  std::uint32_t ranks{0};
  std::uint32_t rank{0};
  std::uint32_t splits{0};
  bool whole{false};  // all its ranks are ranks of the gang
  std::uint64_t collectives{0};
  std::uint64_t sent[kRanks]{};
  std::uint64_t received[kRanks]{};
};

[[nodiscard]] std::uint64_t key_of(const Identity& identity) noexcept;
[[nodiscard]] std::uint64_t key_of_split(const Known& parent, std::uint32_t number, int color) noexcept;

// Before NCCL makes the communicator: this rank will be in it. False: there are too many.
[[nodiscard]] bool announce(Block& block, std::uint64_t key) noexcept;
// When it was made. Null: there are too many.
Known* add(Handle handle, std::uint64_t key, std::uint32_t ranks, std::uint32_t rank) noexcept;
[[nodiscard]] Known* known_of(Handle handle) noexcept;
void remove(Handle handle) noexcept;
// How many ranks of the gang are in it.
[[nodiscard]] std::uint32_t ranks_in(Block& block, std::uint64_t key) noexcept;

void forget_communicators() noexcept;  // in a forked child

}  // namespace cotenant::gangs
