#include "interposer/parking/host_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"
#include "interposer/movable/array.h"
#include "interposer/parking/host_memory.h"
#include "interposer/process/process.h"

namespace cotenant {

using namespace cu;

namespace {

constexpr std::uint64_t kChunkBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kPageBytes = 4096;
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

Array<char*> chunks;
bool stale = false;

constexpr double gib(std::uint64_t bytes) noexcept { return static_cast<double>(bytes) / (1 << 30); }

// Pages that exist. Null: there is no memory for them.
char* make_pages() noexcept {
  void* made = mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  auto* pages = static_cast<char*>(made);
  madvise(pages, kChunkBytes, MADV_HUGEPAGE);
  madvise(pages, kChunkBytes, MADV_DONTFORK);  // a child would otherwise get copies of pinned pages
  if (madvise(pages, kChunkBytes, MADV_POPULATE_WRITE) == 0) return pages;
  for (std::uint64_t at = 0; at < kChunkBytes; at += kPageBytes) pages[at] = 0;
  return pages;
}

void end_chunk(char* pages, bool registered) noexcept {
  if (registered) static_cast<void>(real().cuMemHostUnregister(pages));
  munmap(pages, kChunkBytes);
}

}  // namespace

void give_reason(Reason& reason, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(reason.text, sizeof reason.text, format, arguments);
  va_end(arguments);
}

std::uint64_t pool_bytes() noexcept { return chunks.count() * kChunkBytes; }

bool pool_grow(std::uint64_t needed, Reason& reason) noexcept {
  const std::uint64_t have = pool_bytes();
  const std::uint64_t limit = environment().park_host;
  if (limit != 0 && have + kChunkBytes > limit) {
    give_reason(reason, "%.1f GiB of host memory are needed, and --park-host allows %.1f GiB", gib(needed), gib(limit));
    return false;
  }
  const std::uint64_t left = host_memory_left();
  char* pages = left < kChunkBytes ? nullptr : make_pages();
  if (!pages) {
    give_reason(reason, "%.1f GiB of host memory are needed, and there are %.1f GiB", gib(needed), gib(have + left));
    return false;
  }
  const BesideCaptures beside;
  const CUresult pinned = real().cuMemHostRegister_v2
                              ? real().cuMemHostRegister_v2(pages, kChunkBytes, CU_MEMHOSTREGISTER_PORTABLE)
                              : CUDA_ERROR_NOT_SUPPORTED;
  if (pinned != CUDA_SUCCESS || !chunks.insert(chunks.count(), pages)) {
    end_chunk(pages, pinned == CUDA_SUCCESS);
    give_reason(reason, "the driver does not pin host memory: error %d", static_cast<int>(pinned));
    return false;
  }
  return true;
}

void pool_shrink(std::uint64_t needed) noexcept {
  const BesideCaptures beside;
  while (pool_bytes() >= needed + kChunkBytes) {
    end_chunk(chunks[chunks.count() - 1], !stale);
    chunks.remove(chunks.count() - 1);
  }
}

char* pool_at(std::uint64_t offset, std::uint64_t& contiguous) noexcept {
  contiguous = kChunkBytes - offset % kChunkBytes;
  return chunks[offset / kChunkBytes] + offset % kChunkBytes;
}

bool pool_is_stale() noexcept { return stale; }

void pool_lost_context(bool in_use) noexcept {
  stale = in_use;
  if (in_use) return;
  for (; chunks.count() > 0; chunks.remove(chunks.count() - 1)) end_chunk(chunks[chunks.count() - 1], false);
}

void forget_pool() noexcept { chunks.forget(); }

}  // namespace cotenant
