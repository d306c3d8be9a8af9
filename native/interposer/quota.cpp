#include "interposer/quota.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>

#include "interposer/gpu.h"

namespace cotenant {
namespace {

// Allocations are rare beside launches: a mutex and a table that grows are good enough here.
struct Entry {
  std::uint64_t handle;  // 0: free
  std::uint64_t bytes;
};

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
Entry* entries = nullptr;
std::size_t capacity = 0;
std::size_t count = 0;
std::atomic<std::uint64_t> used{0};

std::size_t place_of(std::uint64_t handle, std::size_t size) noexcept {
  return static_cast<std::size_t>((handle * 0x9e3779b97f4a7c15ull) >> 20) & (size - 1);
}

void insert(Entry* into, std::size_t size, Entry entry) noexcept {
  std::size_t at = place_of(entry.handle, size);
  while (into[at].handle) at = (at + 1) & (size - 1);
  into[at] = entry;
}

bool grow() noexcept {
  const std::size_t size = capacity ? capacity * 2 : 1024;
  auto* larger = static_cast<Entry*>(std::calloc(size, sizeof(Entry)));
  if (!larger) return false;  // what is not remembered stays charged: the safe side
  for (std::size_t i = 0; i < capacity; ++i)
    if (entries[i].handle) insert(larger, size, entries[i]);
  std::free(entries);
  entries = larger;
  capacity = size;
  return true;
}

// Takes the entry out and closes the gap, so that later ones of its chain are still found.
std::uint64_t take(std::uint64_t handle) noexcept {
  if (!capacity) return 0;
  std::size_t at = place_of(handle, capacity);
  while (entries[at].handle && entries[at].handle != handle) at = (at + 1) & (capacity - 1);
  if (!entries[at].handle) return 0;
  const std::uint64_t bytes = entries[at].bytes;
  entries[at] = {0, 0};
  --count;
  for (std::size_t next = (at + 1) & (capacity - 1); entries[next].handle; next = (next + 1) & (capacity - 1)) {
    const Entry moved = entries[next];
    entries[next] = {0, 0};
    insert(entries, capacity, moved);
  }
  return bytes;
}

protocol::BestEffortSlot* slot() noexcept {
  if (gpu_count() == 0) return nullptr;
  const Link* link = gpu_at(0).link.load(std::memory_order_acquire);
  return link ? &link->best_effort() : nullptr;
}

void publish() noexcept {
  if (auto* own = slot()) {
    own->memoryUsed.store(used.load(std::memory_order_relaxed), std::memory_order_relaxed);
    own->memoryQuota.store(environment().memory_quota, std::memory_order_relaxed);
  }
}

}  // namespace

bool quota_counts() noexcept { return role() == Role::kBestEffort; }

bool quota_reserve(std::uint64_t bytes) noexcept {
  const std::uint64_t quota = environment().memory_quota;
  const std::uint64_t before = used.fetch_add(bytes, std::memory_order_relaxed);
  if (quota == 0 || (before + bytes <= quota && before + bytes >= before)) return true;
  used.fetch_sub(bytes, std::memory_order_relaxed);
  if (auto* own = slot()) own->memoryRefusals.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void quota_unreserve(std::uint64_t bytes) noexcept { used.fetch_sub(bytes, std::memory_order_relaxed); }

void quota_charge(std::uint64_t handle, std::uint64_t bytes) noexcept {
  pthread_mutex_lock(&mutex);
  if ((count + 1) * 2 <= capacity || grow()) {
    insert(entries, capacity, {handle, bytes});
    ++count;
  }
  pthread_mutex_unlock(&mutex);
  publish();
}

void quota_release(std::uint64_t handle) noexcept {
  if (!quota_counts() || handle == 0) return;
  pthread_mutex_lock(&mutex);
  const std::uint64_t bytes = take(handle);
  pthread_mutex_unlock(&mutex);
  used.fetch_sub(bytes, std::memory_order_relaxed);
  publish();
}

void quota_forget() noexcept {
  pthread_mutex_init(&mutex, nullptr);
  entries = nullptr;  // a thread of the parent may have been growing it
  capacity = count = 0;
  used.store(0, std::memory_order_relaxed);
}

bool quota_view(std::uint64_t& free_bytes, std::uint64_t& total_bytes) noexcept {
  const std::uint64_t quota = environment().memory_quota;
  if (!quota_counts() || quota == 0) return false;
  const std::uint64_t taken = used.load(std::memory_order_relaxed);
  const std::uint64_t left = taken < quota ? quota - taken : 0;
  if (total_bytes > quota) total_bytes = quota;
  if (free_bytes > left) free_bytes = left;
  return true;
}

}  // namespace cotenant
