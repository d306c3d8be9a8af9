#include "interposer/gangs/library.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "interposer/gangs/member.h"
#include "interposer/lookup/libc.h"
#include "nccl/names.h"

namespace cotenant::gangs {
namespace {

constexpr auto kCount = static_cast<unsigned>(Nccl::kCount);
constexpr const char* kNames[] = {
#define FUNCTION(name) #name,
#define REFUSED(name) #name,
#include "nccl/functions.def"
#undef FUNCTION
#undef REFUSED
};

std::atomic<void*> known[kCount];
std::atomic<void*> some{nullptr};  // any function of NCCL

// The names that libcotenant-nccl.so exports lead here.
bool is_ours(const void* function) noexcept {
  Dl_info info{};
  return dladdr(function, &info) != 0 && info.dli_fname && std::strstr(info.dli_fname, "/libcotenant");
}

void* in_library(const char* path, const char* name) noexcept {
  void* handle = path && *path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (!handle) return nullptr;
  void* found = real_dlsym()(handle, name);
  dlclose(handle);
  return found && is_ours(found) ? nullptr : found;
}

struct Search {
  const char* name;
  void* found;
};

int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  if (!info->dlpi_name || !std::strstr(info->dlpi_name, "/libnccl.so")) return 0;
  search->found = in_library(info->dlpi_name, search->name);
  return search->found != nullptr;
}

void* find(const char* name, const void* caller) noexcept {
  Dl_info object{};
  if (!real_dlsym()) return nullptr;
  if (void* found = dladdr(caller, &object) != 0 ? in_library(object.dli_fname, name) : nullptr) return found;
  Search search{name, nullptr};
  dl_iterate_phdr(visit, &search);
  return search.found;
}

}  // namespace

const char* name_of(Nccl which) noexcept { return kNames[static_cast<unsigned>(which)]; }

void* nccl_function(Nccl which, const void* caller) noexcept {
  std::atomic<void*>& place = known[static_cast<unsigned>(which)];
  if (void* found = place.load(std::memory_order_acquire)) return found;
  void* found = find(name_of(which), caller);
  if (!found) found = other_nccl_function(name_of(which));
  if (!found) return nullptr;
  place.store(found, std::memory_order_release);
  some.store(found, std::memory_order_release);
  return found;
}

void* other_nccl_function(const char* name) noexcept {
  void* one = some.load(std::memory_order_acquire);
  Dl_info object{};
  return one && dladdr(one, &object) != 0 ? in_library(object.dli_fname, name) : nullptr;
}

void* nccl_wrapper(const char* name, void* found) noexcept {
  if (!found || !nccl_is_seen() || is_ours(found)) return nullptr;
  for (unsigned which = 0; which < kCount; ++which) {
    if (std::strcmp(name, kNames[which]) != 0) continue;
    void* before = nullptr;
    const bool first = known[which].compare_exchange_strong(before, found, std::memory_order_acq_rel);
    some.store(found, std::memory_order_release);
    // Another NCCL is left alone. Its kernels are recognised, and refused.
    return first || before == found ? wrappers[which] : nullptr;
  }
  return nullptr;
}

}  // namespace cotenant::gangs

extern "C" __attribute__((visibility("default"))) bool cotenant_nccl_wrappers(void** wrappers, unsigned count) {
  using namespace cotenant::gangs;
  if (count != kCount) return false;
  std::memcpy(wrappers, cotenant::gangs::wrappers, sizeof cotenant::gangs::wrappers);
  note_nccl_is_seen();
  return true;
}
