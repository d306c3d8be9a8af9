#include "interposer/lookup/driver.h"
#include "interposer/lookup/libc.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "interposer/base/spin.h"
#include "interposer/lookup/entry.h"
#include "interposer/lookup/unhooked.h"
#include "interposer/process/process.h"

extern "C" __attribute__((weak)) int dladdr1(const void*, Dl_info*, void**, int);  // musl has none

namespace cotenant {

namespace {

struct Pair {
  void* driver;
  void* wrapper;
};

// Names one behind the other, because an array of pointers would cost each process its relocations. A + stands before
// what is replaced.
constexpr char kEntries[] =
#define HOOK(symbol, params, args) "+" #symbol "\0"
#define CALL(symbol, params, args) "-" #symbol "\0"
#include "driver/entries.def"
#undef HOOK
#undef CALL
    ;
// The other functions of cuda.h, which need no wrapper.
constexpr char kPassed[] =
#define REASON(name, sentence)
#define PASSED(symbol, reason) "-" #symbol "\0"
#define COUNTED(symbol)
#include "driver/passed.def"
#undef REASON
#undef PASSED
#undef COUNTED
    ;

constexpr auto kHooks = static_cast<std::size_t>(Entry::kCount);
constexpr std::size_t kAllEntries = sizeof(Real) / sizeof(void*);  // a pointer for each, in the order of the list
constexpr std::size_t kPassing = kAllEntries - kHooks
#define REASON(name, sentence)
#define PASSED(symbol, reason) +1
#define COUNTED(symbol)
#include "driver/passed.def"
#undef REASON
#undef PASSED
#undef COUNTED
    ;

template <class Each>
void each_of(const char* names, Each each) noexcept {
  for (const char* at = names; *at; at += std::strlen(at) + 1) each(at + 1, *at == '+');
}

// The functions of one copy of the driver, by address. Functions that it lacks are null and come first.
struct Copy {
  const void* base;
  bool is_inner;  // the actual driver of a loader, which is the one in use
  Pair pairs[kHooks];
  void* passed[kPassing];
};

constexpr std::uint32_t kCopies = 8;
Copy copies[kCopies];
std::atomic<std::uint32_t> copy_count{0};

Real table;
void* in_use = nullptr;  // the handle of the copy that the table is of
std::atomic<const void*> base_in_use{nullptr};
std::atomic<bool> loaded{false};
std::atomic<bool> initialised{false};
Spin loading;

constexpr std::uint32_t kInterposers = 8;
std::atomic<const void*> interposers[kInterposers];  // behind us; functions of theirs are in the table

const link_map* object_of(const void* address) noexcept {
  constexpr int kLinkMap = 2;  // RTLD_DL_LINKMAP
  Dl_info info{};
  void* object = nullptr;
  if (!dladdr1 || dladdr1(address, &info, &object, kLinkMap) == 0) return nullptr;
  return static_cast<const link_map*>(object);
}

const void* base_of(const void* address) noexcept {
  Dl_info info{};
  return address && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// An interposer may export the driver's functions, too, but not under the driver's name.
bool is_driver(const link_map& object) noexcept {
  const char* own = own_name_of(object);
  const char* slash = std::strrchr(object.l_name, '/');
  const char* file = slash ? slash + 1 : object.l_name;
  const auto is_named = [](const char* name) { return name && std::strncmp(name, "libcuda.so", 10) == 0; };
  return (is_named(own) || is_named(file)) && exported_by(object, "cuInit") && !exported_by(object, "dlsym");
}

// The driver may have another file name: it is the object that contains `hint`, if that object is a driver (cuBLAS also
// has names that begin with "cu").
void* library(void* hint) noexcept {
  const link_map* object = hint ? object_of(hint) : nullptr;
  if (object && is_driver(*object)) return dlopen(object->l_name, RTLD_NOW | RTLD_NOLOAD);
  if (void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) return handle;
  const Dlsym find = real_dlsym();
  Dl_info of_hint{};
  if (!hint || !find || dladdr(hint, &of_hint) == 0 || !of_hint.dli_fname) return nullptr;
  void* handle = dlopen(of_hint.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  void* init = handle ? find(handle, "cuInit") : nullptr;
  return init && base_of(init) == of_hint.dli_fbase ? handle : nullptr;
}

const Copy* copy_at(const void* base) noexcept {
  for (std::uint32_t i = 0; base && i < copy_count.load(std::memory_order_acquire); ++i)
    if (copies[i].base == base) return &copies[i];
  return nullptr;
}

// The handle of this library, whose exports are the wrappers.
void* own_handle() noexcept {
  Dl_info info{};
  return dladdr(&loaded, &info) != 0 ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : nullptr;
}

// Adds the copy with this handle. Under the lock.
template <class Find>
void add_copy(void* handle, Find find, bool is_inner) noexcept {
  const std::uint32_t count = copy_count.load(std::memory_order_relaxed);
  void* own = count < kCopies ? own_handle() : nullptr;
  if (!own) return;
  Copy& copy = copies[count];
  std::size_t hooks = 0;
  std::size_t passed = 0;
  const auto add = [&](const char* name, bool is_replaced) {
    void* found = find(handle, name);
    if (is_replaced) copy.pairs[hooks++] = {found, real_dlsym()(own, name)};
    else copy.passed[passed++] = found;
  };
  each_of(kEntries, add);
  each_of(kPassed, add);
  std::sort(copy.pairs, copy.pairs + kHooks, [](const Pair& a, const Pair& b) { return a.driver < b.driver; });
  std::sort(std::begin(copy.passed), std::end(copy.passed));
  copy.base = base_of(real_dlsym()(handle, "cuInit"));
  copy.is_inner = is_inner;
  copy_count.store(count + 1, std::memory_order_release);
}

void note_interposer(const void* function) noexcept {
  const void* base = base_of(function);
  for (auto& one : interposers) {
    const void* known = one.load(std::memory_order_relaxed);
    if (!known) one.store(base, std::memory_order_release);
    if (!known || known == base) return;
  }
}

// The process's calls go to this copy, through the next interposer where there is one. Under the lock.
void use_copy(void* handle) noexcept {
  const Dlsym direct = real_dlsym();
  const auto dlsym_of_next = reinterpret_cast<Dlsym>(next_loader(Loader::kDlsym));
  const void* own = base_of(&loaded);
  // The other interposer may name its function and get ours, which is the first of that name.
  const auto next = [&](void* driver, const char* name) {
    void* found = dlsym_of_next(driver, name);
    if (dlsym_of_next == direct || !found || base_of(found) != own) return found;
    const link_map* object = object_of(reinterpret_cast<void*>(dlsym_of_next));
    void* its = object ? exported_by(*object, name) : nullptr;
    return its ? its : direct(driver, name);
  };
  auto** place = reinterpret_cast<void**>(&table);
  each_of(kEntries, [&](const char* name, bool) { *place++ = next(handle, name); });
  in_use = handle;
  const void* driver = base_of(direct(handle, "cuInit"));
  base_in_use.store(driver, std::memory_order_release);
  if (copy_at(driver)) return;
  add_copy(handle, direct, false);
  if (dlsym_of_next == direct) return;
  add_copy(handle, next, false);
  const auto* const* functions = reinterpret_cast<void* const*>(&table);
  for (std::size_t k = 0; k < kAllEntries; ++k)
    if (functions[k] && base_of(functions[k]) != driver) note_interposer(functions[k]);
}

int version_of(void* handle) noexcept {
  int version = 0;
  const auto ask = reinterpret_cast<cu::CUresult (*)(int*)>(real_dlsym()(handle, "cuDriverGetVersion"));
  return ask && ask(&version) == cu::CUDA_SUCCESS ? version : 0;
}

// The driver in use has given a function of this object.
void add_inner(const link_map& object) noexcept {
  Locked lock(loading);
  void* handle =
      copy_at(reinterpret_cast<const void*>(object.l_addr)) ? nullptr : dlopen(object.l_name, RTLD_NOW | RTLD_NOLOAD);
  if (handle) add_copy(handle, real_dlsym(), true);
}

// Whether `function` of a copy of the driver is one that is replaced. Then that copy is the one in use from here on.
bool is_hook(const link_map& object, void* function) noexcept {
  bool found = false;
  each_of(kEntries, [&](const char* name, bool is_replaced) {
    found = found || (is_replaced && exported_by(object, name) == function);
  });
  if (!found) return false;
  Locked lock(loading);
  if (void* handle = dlopen(object.l_name, RTLD_NOW | RTLD_NOLOAD)) use_copy(handle);
  return true;
}

cu::CUresult lacks() noexcept { return cu::CUDA_ERROR_NOT_FOUND; }

// The program looks a function up in a copy of the driver, and has initialised another one.
void* in_other_copy(const char* name, const link_map& other) noexcept {
  static std::atomic<bool> said{false};
  const bool tells = !said.exchange(true);
  void* handle = dlopen(other.l_name, RTLD_NOW | RTLD_NOLOAD);
  const bool is_newer = handle && version_of(handle) > version_of(in_use);
  if (handle) dlclose(handle);
  const link_map* used = object_of(real_dlsym()(in_use, "cuInit"));
  // A service goes on with the newer one: it may need what only that one has.
  if (is_newer && role() == Role::kHigh) {
    if (tells) {
      note_caveat(protocol::Caveat::kPastUs);
      tell("%s is a second driver beside %s: what the program submits to it is not protected.", other.l_name,
           used ? used->l_name : "the first");
    }
    return nullptr;
  }
  if (tells)
    tell("%s is a second driver beside %s, which is initialised: calls of the second one go to the first.",
         other.l_name, used ? used->l_name : "the first");
  void* own = reinterpret_cast<Dlsym>(next_loader(Loader::kDlsym))(in_use, name);
  if (!own) return reinterpret_cast<void*>(lacks);
  void* wrapper = wrapper_of(own);
  return wrapper ? wrapper : counting_jump(name, own);
}

}  // namespace

const Real& real() noexcept { return table; }

bool load_driver(void* hint) noexcept {
  if (loaded.load(std::memory_order_acquire)) return true;
  void* handle = real_dlsym() ? library(hint) : nullptr;
  if (!handle) return false;
  Locked lock(loading);
  if (loaded.load(std::memory_order_relaxed)) return true;
  use_copy(handle);
  loaded.store(true, std::memory_order_release);
  return true;
}

void driver_initialised() noexcept { initialised.store(true, std::memory_order_relaxed); }

void* wrapper_of(void* driver_function) noexcept {
  for (std::uint32_t i = 0; driver_function && i < copy_count.load(std::memory_order_acquire); ++i) {
    const Pair* pairs = copies[i].pairs;
    const auto* found = std::lower_bound(pairs, pairs + kHooks, driver_function,
                                         [](const Pair& pair, void* key) { return pair.driver < key; });
    if (found != pairs + kHooks && found->driver == driver_function) return found->wrapper;
  }
  return nullptr;
}

bool known_to_pass(void* driver_function) noexcept {
  for (std::uint32_t i = 0; i < copy_count.load(std::memory_order_acquire); ++i)
    if (std::binary_search(std::begin(copies[i].passed), std::end(copies[i].passed), driver_function)) return true;
  return false;
}

bool is_unknown_to_us(const char* name) noexcept {
  bool is_known = false;
  const auto compare = [&](const char* known, bool) { is_known = is_known || std::strcmp(known, name) == 0; };
  each_of(kEntries, compare);
  each_of(kPassed, compare);
  if (is_known) return false;
  const link_map* driver = object_of(base_in_use.load(std::memory_order_acquire));
  return driver && exported_by(*driver, name);
}

bool of_driver(void* function) noexcept { return copy_at(base_of(function)) != nullptr; }

void* in_place_of(const char* name, void* found, FoundBy by) noexcept {
  const void* base = base_of(found);
  const Copy* copy = copy_at(base);
  if (base != base_in_use.load(std::memory_order_acquire) && !(copy && copy->is_inner)) {
    const link_map* object = object_of(found);
    if (object && is_driver(*object)) {
      if (by == FoundBy::kDriver) add_inner(*object);
      else if (initialised.load(std::memory_order_relaxed)) return in_other_copy(name, *object);
      else if (!is_hook(*object, found)) return nullptr;  // such as a question for its version
    }
  }
  if (void* wrapper = wrapper_of(found)) return wrapper;
  return counting_jump(name, found);
}

bool asks_behind_us(const void* code) noexcept {
  const void* base = base_of(code);
  if (!base) return false;
  if (copy_at(base)) return true;
  for (const auto& one : interposers)
    if (one.load(std::memory_order_acquire) == base) return true;
  const link_map* object = object_of(code);
  return object && is_driver(*object);
}

bool is_in_front(const void* code) noexcept {
  const link_map* object = object_of(code);
  // The program itself is the first of all.
  return object && object->l_prev && !is_behind_us(*object);
}

}  // namespace cotenant
