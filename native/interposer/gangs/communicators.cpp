#include "interposer/gangs/communicators.h"

#include "interposer/base/hash.h"
#include "interposer/base/spin.h"
#include "interposer/base/table.h"
#include "interposer/process/process.h"

namespace cotenant::gangs {
namespace {

Spin adding;
Known all[kCommunicators];

Communicator* entry_of(Block& block, std::uint64_t key) noexcept {
  Communicator* found = nullptr;
  probe(key, kCommunicators, [&](std::size_t at) {
    Communicator& entry = block.communicators[at];
    std::uint64_t before = 0;
    if (!entry.key.compare_exchange_strong(before, key) && before != key) return false;
    found = &entry;
    return true;
  });
  return found;
}

}  // namespace

std::uint64_t key_of(const Identity& identity) noexcept {
  std::uint64_t hash = kFnvBasis;
  for (const char byte : identity.internal) hash = fnv1a(hash, static_cast<unsigned char>(byte));
  return hash | 1;  // 0 is no key
}

std::uint64_t key_of_split(const Known& parent, std::uint32_t number, int color) noexcept {
  return folded(folded(parent.key, number), static_cast<std::uint32_t>(color)) | 1;
}

bool announce(Block& block, std::uint64_t key) noexcept {
  Communicator* entry = entry_of(block, key);
  if (entry) entry->ranks.fetch_or(1u << environment().gang.rank);
  return entry != nullptr;
}

std::uint32_t ranks_in(Block& block, std::uint64_t key) noexcept {
  const Communicator* entry = entry_of(block, key);
  return entry ? static_cast<std::uint32_t>(__builtin_popcount(entry->ranks.load())) : 0;
}

Known* add(Handle handle, std::uint64_t key, std::uint32_t ranks, std::uint32_t rank) noexcept {
  Locked lock(adding);
  for (Known& one : all) {
    if (one.handle.load(std::memory_order_relaxed)) continue;
    one.key = key;
    one.ranks = ranks;
    one.rank = rank;
    one.splits = 0;
    one.whole = false;
    one.collectives = 0;
    for (std::uint32_t peer = 0; peer < kRanks; ++peer) one.sent[peer] = one.received[peer] = 0;
    one.handle.store(handle, std::memory_order_release);
    return &one;
  }
  return nullptr;
}

Known* known_of(Handle handle) noexcept {
  for (Known& one : all)
    if (handle && one.handle.load(std::memory_order_acquire) == handle) return &one;
  return nullptr;
}

void remove(Handle handle) noexcept {
  if (Known* known = known_of(handle)) known->handle.store(nullptr, std::memory_order_release);
}

void forget_communicators() noexcept {
  adding.unlock();
  for (Known& one : all) one.handle.store(nullptr, std::memory_order_relaxed);
}

}  // namespace cotenant::gangs
