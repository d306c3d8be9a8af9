#include "interposer/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "interposer/entry.h"
#include "interposer/spin.h"

namespace cotenant {

// Our exports, one per replaced function; defined in wrappers.cpp.
namespace cu {
#define HOOK(symbol, params, args) extern "C" CUresult symbol params;
#define CALL(symbol, params, args)
#include "driver/entries.def"
#undef HOOK
#undef CALL
}  // namespace cu

namespace {

struct Pair {
  void* driver;
  void* wrapper;
};

constexpr auto kHooks = static_cast<std::size_t>(Entry::kCount);

Real table;
Pair pairs[kHooks];  // sorted by driver pointer; those this driver lacks are null and sort first
std::atomic<bool> loaded{false};
Spin loading;

constexpr std::string_view kNames[] = {
#define HOOK(symbol, params, args) #symbol,
#define CALL(symbol, params, args)
#include "driver/entries.def"
#undef HOOK
#undef CALL
};

// "cuMemAlloc_v2" and "cuLaunchKernel_ptsz" → "cuMemAlloc", "cuLaunchKernel": what callers ask by.
constexpr std::string_view base_name(std::string_view name) noexcept {
  const auto underscore = name.find('_');
  return underscore == std::string_view::npos ? name : name.substr(0, underscore);
}

void* library(void* hint) noexcept {
  if (void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) return handle;
  // A driver under another name: the object that holds `hint`, if it is one (cuBLAS also has "cu" names).
  Dl_info of_hint{};
  Dl_info of_init{};
  const Dlsym find = real_dlsym();
  if (!hint || !find || dladdr(hint, &of_hint) == 0 || !of_hint.dli_fname) return nullptr;
  void* handle = dlopen(of_hint.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  void* init = handle ? find(handle, "cuInit") : nullptr;
  return init && dladdr(init, &of_init) != 0 && of_init.dli_fbase == of_hint.dli_fbase ? handle : nullptr;
}

}  // namespace

const Real& real() noexcept { return table; }

bool load_driver(void* hint) noexcept {
  if (loaded.load(std::memory_order_acquire)) return true;
  void* handle = library(hint);
  const Dlsym find = real_dlsym();
  if (!handle || !find) return false;
  Locked lock(loading);
  if (loaded.load(std::memory_order_relaxed)) return true;
  std::size_t n = 0;
#define HOOK(symbol, params, args)                                                         \
  table.symbol = reinterpret_cast<decltype(table.symbol)>(find(handle, #symbol));          \
  pairs[n++] = {reinterpret_cast<void*>(table.symbol), reinterpret_cast<void*>(&cu::symbol)};
#define CALL(symbol, params, args) \
  table.symbol = reinterpret_cast<decltype(table.symbol)>(find(handle, #symbol));
#include "driver/entries.def"
#undef HOOK
#undef CALL
  std::sort(pairs, pairs + kHooks, [](const Pair& a, const Pair& b) { return a.driver < b.driver; });
  loaded.store(true, std::memory_order_release);
  return true;
}

void* wrapper_of(void* driver_function) noexcept {
  if (!driver_function) return nullptr;
  const auto* found = std::lower_bound(pairs, pairs + kHooks, driver_function,
                                       [](const Pair& pair, void* key) { return pair.driver < key; });
  return found != pairs + kHooks && found->driver == driver_function ? found->wrapper : nullptr;
}

bool of_hooked_family(const char* name) noexcept {
  const std::string_view asked = base_name(name);
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view known) { return base_name(known) == asked; });
}

}  // namespace cotenant
