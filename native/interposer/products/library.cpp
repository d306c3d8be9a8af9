#include "interposer/products/library.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "interposer/base/table.h"
#include "interposer/lookup/driver.h"
#include "interposer/lookup/libc.h"

namespace cotenant {

extern "C" {
#define BLAS(symbol) int symbol();
#include "interposer/products/entries.def"
#undef BLAS
}

namespace {

constexpr auto kBlas = static_cast<std::size_t>(Blas::kCount);
constexpr const char* kNames[] = {
#define BLAS(symbol) #symbol,
#include "interposer/products/entries.def"
#undef BLAS
};

void* own(std::size_t which) noexcept {
  static void* const all[] = {
#define BLAS(symbol) reinterpret_cast<void*>(&symbol),
#include "interposer/products/entries.def"
#undef BLAS
  };
  return all[which];
}

// The functions for which programs that look them up got the wrapper.
std::atomic<void*> looked_up[kBlas];

// Call sites, each with the function that it calls.
struct Site {
  std::atomic<std::uint64_t> key{0};
  std::atomic<void*> function{nullptr};
};
constexpr std::size_t kSites = 1024;
__constinit Table<Site, kSites> sites;

void* in_library(const char* path, std::size_t which) noexcept {
  void* handle = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (!handle) return nullptr;
  void* found = real_dlsym()(handle, kNames[which]);
  dlclose(handle);
  return found == own(which) ? nullptr : found;
}

struct Search {
  const char* part;
  char path[1024];
};

int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  if (!info->dlpi_name || !std::strstr(info->dlpi_name, search->part)) return 0;
  std::snprintf(search->path, sizeof search->path, "%s", info->dlpi_name);
  return 1;
}

const void* object_of(const void* address) noexcept {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

void* find(std::size_t which, void* caller) noexcept {
  if (!real_dlsym()) return nullptr;
  Dl_info object{};
  void* linked = dladdr(caller, &object) != 0 ? in_library(object.dli_fname, which) : nullptr;
  if (linked && object_of(linked) != object.dli_fbase) return linked;
  // Some programs define functions of these names, which look the library's up and call it. Then they are callers, too.
  void* looked = looked_up[which].load(std::memory_order_acquire);
  if (looked && object_of(looked) != object.dli_fbase) return looked;
  if (linked) return linked;
  if (void* found = real_dlsym()(RTLD_NEXT, kNames[which]); found && found != own(which)) return found;
  Search search{std::strncmp(kNames[which], "cublasLt", 8) == 0 ? "/libcublasLt.so" : "/libcublas.so", {}};
  return dl_iterate_phdr(visit, &search) ? in_library(search.path, which) : nullptr;
}

}  // namespace

void* blas_function(Blas entry, void* caller) noexcept {
  const auto which = static_cast<std::size_t>(entry);
  const std::uint64_t key = (reinterpret_cast<std::uint64_t>(caller) << 8 | which) + 1;
  Site* known = sites.find(key);
  if (void* function = known ? known->function.load(std::memory_order_acquire) : nullptr) return function;
  void* function = find(which, caller);
  if (!function || known) return function;
  if (const auto [site, added] = sites.find_or_add(key); added)
    site->function.store(function, std::memory_order_release);
  return function;
}

void* blas_sibling(void* found, const char* name) noexcept {
  Dl_info object{};
  if (!real_dlsym() || dladdr(found, &object) == 0) return nullptr;
  void* handle = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return nullptr;
  void* sibling = real_dlsym()(handle, name);
  dlclose(handle);
  return sibling;
}

void* blas_wrapper(const char* name, void* found) noexcept {
  for (std::size_t which = 0; which < kBlas; ++which) {
    if (std::strcmp(name, kNames[which]) != 0) continue;
    if (!found || found == own(which)) return nullptr;
    void* before = nullptr;
    const bool first = looked_up[which].compare_exchange_strong(before, found, std::memory_order_acq_rel);
    return first || before == found ? own(which) : nullptr;
  }
  return nullptr;
}

}  // namespace cotenant
