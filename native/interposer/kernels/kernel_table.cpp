#include "interposer/kernels/kernel_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "interposer/base/hash.h"
#include "interposer/kernels/function.h"
#include "interposer/process/environment.h"
#include "interposer/process/process.h"
#include "libc/file_status.h"

namespace cotenant {
namespace {

using protocol::KernelEntry;
using protocol::KernelTable;

std::atomic<const KernelTable*> table{nullptr};

const KernelTable* map_file(const char* path) noexcept {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info{};
  if (fd < 0 || !file_status(fd, &info)) {
    if (fd >= 0) close(fd);
    return nullptr;
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  void* at = size >= sizeof(KernelTable) ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  close(fd);
  if (at == MAP_FAILED) return nullptr;
  const auto* found = static_cast<const KernelTable*>(at);
  if (found->magic == protocol::KERNEL_TABLE_MAGIC && found->version == protocol::VERSION &&
      size == sizeof(KernelTable) + std::size_t{found->count} * sizeof(KernelEntry))
    return found;
  munmap(at, size);
  return nullptr;
}

// As in src/client/kernel-table.ts.
std::uint64_t key_of(const char* name, const unsigned (&shape)[7]) noexcept {
  std::uint64_t hash = kFnvBasis;
  const auto add = [&](unsigned byte) { hash = fnv1a(hash, static_cast<unsigned char>(byte & 0xff)); };
  for (; *name; ++name) add(static_cast<unsigned char>(*name));
  for (int i = 0; i < 6; ++i)
    for (unsigned shift = 0; shift < 32; shift += 8) add(shape[i] >> shift);
  return hash;
}

}  // namespace

void open_kernel_table(const char* gpu_name) noexcept {
  const char* path = environment().kernels;
  if (path[0] == '\0' || kernel_table()) return;
  const KernelTable* found = map_file(path);
  if (!found) {
    tell("the profile's table %s can't be used: every kernel's class is unknown.", path);
    return;
  }
  char profiled_on[sizeof found->gpuName];
  std::memcpy(profiled_on, found->gpuName, sizeof profiled_on);
  profiled_on[sizeof profiled_on - 1] = '\0';
  if (std::strcmp(profiled_on, gpu_name) == 0) table.store(found, std::memory_order_release);
  else tell("the profile is of %s, this is %s: every kernel's class is unknown.", profiled_on, gpu_name);
}

const KernelTable* kernel_table() noexcept { return table.load(std::memory_order_acquire); }

const KernelEntry* profile_of(const LaunchShape& shape) noexcept {
  const KernelTable* in = kernel_table();
  if (!in) return nullptr;
  const NamedFunction named = named_function(shape.function);
  if (!named.name) return nullptr;
  const std::uint64_t key = key_of(named.name, shape.of);
  const auto* first = reinterpret_cast<const KernelEntry*>(in + 1);
  const auto* last = first + in->count;
  const auto* at = std::lower_bound(first, last, key, [](const KernelEntry& e, std::uint64_t k) { return e.key < k; });
  return at != last && at->key == key ? at : nullptr;
}

}  // namespace cotenant
