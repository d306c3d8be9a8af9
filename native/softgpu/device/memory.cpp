#include "softgpu/device/memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "softgpu/device/region.h"

namespace cotenant::soft {
namespace {

constexpr std::size_t kGranule = 512;  // bytes; what an allocation is rounded up to on the device

std::size_t pages(std::size_t bytes) { return (bytes + 4095) & ~std::size_t{4095}; }

}  // namespace

CUresult Memory::allocate(Allocation::Kind kind, std::size_t bytes, unsigned device, Context* context, Pool* pool,
                          CUdeviceptr* out) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t total = region_.device(device).memory_total.load();
  const bool counts = kind != Allocation::Kind::pinned;
  if (bytes > (counts ? total : std::uint64_t{1} << 40)) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::size_t rounded = (bytes + kGranule - 1) / kGranule * kGranule;
  if (pool != nullptr && pool->max_size != 0 && pool->used + rounded > pool->max_size) return CUDA_ERROR_OUT_OF_MEMORY;
  if (counts && !region_.charge(device, rounded)) return CUDA_ERROR_OUT_OF_MEMORY;
  void* memory =
      mmap(nullptr, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    if (counts) region_.discharge(device, rounded);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Allocation made;
  made.kind = kind;
  made.base = reinterpret_cast<std::uintptr_t>(memory);
  made.size = bytes;
  made.charged = counts ? rounded : 0;
  made.device = device;
  made.context = context;
  made.pool = pool;
  made.id = ++ids_;
  if (pool != nullptr) {
    pool->used += rounded;
    pool->used_high = std::max(pool->used_high, pool->used);
  }
  ranges_[made.base] = made;
  *out = made.base;
  return CUDA_SUCCESS;
}

CUresult Memory::register_host(void* pointer, std::size_t bytes, unsigned flags, Context* context) {
  const auto base = reinterpret_cast<std::uintptr_t>(pointer);
  if (base == 0 || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto after = ranges_.lower_bound(base);
  if ((after != ranges_.end() && after->first < base + bytes) || find(base) != nullptr) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  Allocation made;
  made.kind = Allocation::Kind::registered;
  made.base = base;
  made.size = bytes;
  made.flags = flags;
  made.context = context;
  made.id = ++ids_;
  ranges_[base] = made;
  return CUDA_SUCCESS;
}

bool Memory::release(CUdeviceptr pointer) {
  const auto at = ranges_.find(std::uintptr_t(pointer));
  if (at == ranges_.end()) return false;
  const Allocation gone = at->second;
  ranges_.erase(at);
  if (gone.charged != 0) region_.discharge(gone.device, gone.charged);
  if (gone.pool != nullptr) gone.pool->used -= gone.charged;
  if (gone.kind != Allocation::Kind::registered) munmap(reinterpret_cast<void*>(gone.base), pages(gone.size));
  return true;
}

void Memory::release_all(const Context* context) {
  for (auto at = ranges_.begin(); at != ranges_.end();) {
    const auto next = std::next(at);
    const Allocation& range = at->second;
    if (range.context == context && range.kind != Allocation::Kind::mapped && range.pool == nullptr) release(at->first);
    at = next;
  }
}

Allocation* Memory::find(CUdeviceptr pointer, std::size_t bytes) {
  auto at = ranges_.upper_bound(std::uintptr_t(pointer));
  if (at == ranges_.begin()) return nullptr;
  --at;
  Allocation& range = at->second;
  const std::size_t offset = std::uintptr_t(pointer) - range.base;
  if (offset >= range.size) return nullptr;
  std::size_t reach = range.size - offset;
  while (reach < bytes) {
    const std::uintptr_t end = at->second.base + at->second.size;
    ++at;
    const bool goes_on = at != ranges_.end() && at->first == end && range.kind == Allocation::Kind::mapped &&
                         at->second.kind == Allocation::Kind::mapped && at->second.device == range.device;
    if (!goes_on) return nullptr;
    reach += at->second.size;
  }
  return &range;
}

std::size_t Memory::reserved_at(std::uintptr_t base) const {
  const auto found = reserved_.find(base);
  return found == reserved_.end() ? 0 : found->second;
}

bool Memory::is_reserved(CUdeviceptr pointer, std::size_t bytes) const {
  auto at = reserved_.upper_bound(std::uintptr_t(pointer));
  if (at == reserved_.begin()) return false;
  --at;
  const std::size_t offset = std::uintptr_t(pointer) - at->first;
  return offset < at->second && bytes <= at->second - offset;
}

bool Memory::has_mappings(std::uintptr_t base, std::size_t bytes) const {
  const auto at = ranges_.lower_bound(base);
  return at != ranges_.end() && at->first < base + bytes;
}

Pool* Memory::default_pool(unsigned device) {
  auto& pool = pools_[device];
  if (!pool) {
    pool = std::make_unique<Pool>();
    pool->device = device;
    pool->built_in = true;
  }
  return pool.get();
}

}  // namespace cotenant::soft
