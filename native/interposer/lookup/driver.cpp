#include "interposer/lookup/driver.h"
#include "interposer/lookup/libc.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "interposer/base/spin.h"
#include "interposer/lookup/entry.h"

namespace cotenant {

// The interposer's exports, one for each replaced function; defined in wrappers.cpp.
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
Pair pairs[kHooks];  // sorted by the driver's pointer; functions that this driver lacks are null and come first
std::atomic<bool> loaded{false};
Spin loading;

// The other functions of cuda.h, which need no wrapper.
constexpr const char* kPassed[] = {
#define HOOK(symbol, params, args)
#define CALL(symbol, params, args) #symbol,
#include "driver/entries.def"
#undef HOOK
#undef CALL
#define REASON(name, sentence)
#define PASSED(symbol, reason) #symbol,
#define COUNTED(symbol)
#include "driver/passed.def"
#undef REASON
#undef PASSED
#undef COUNTED
};
void* passed[sizeof kPassed / sizeof *kPassed];  // sorted
void* driver_base = nullptr;

void* library(void* hint) noexcept {
  if (void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) return handle;
  // The driver may have another file name: it is the object that contains `hint`, if that object is a driver (cuBLAS
  // also has names that begin with "cu").
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
#define HOOK(symbol, params, args)                                                \
  table.symbol = reinterpret_cast<decltype(table.symbol)>(find(handle, #symbol)); \
  pairs[n++] = {reinterpret_cast<void*>(table.symbol), reinterpret_cast<void*>(&cu::symbol)};
#define CALL(symbol, params, args) table.symbol = reinterpret_cast<decltype(table.symbol)>(find(handle, #symbol));
#include "driver/entries.def"
#undef HOOK
#undef CALL
  std::transform(std::begin(kPassed), std::end(kPassed), passed, [&](const char* name) { return find(handle, name); });
  std::sort(std::begin(passed), std::end(passed));
  Dl_info of_init{};
  if (dladdr(reinterpret_cast<void*>(table.cuInit), &of_init) != 0) driver_base = of_init.dli_fbase;
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

bool known_to_pass(void* driver_function) noexcept {
  return std::binary_search(std::begin(passed), std::end(passed), driver_function);
}

bool of_driver(void* function) noexcept {
  Dl_info info{};
  return driver_base && dladdr(function, &info) != 0 && info.dli_fbase == driver_base;
}

}  // namespace cotenant
