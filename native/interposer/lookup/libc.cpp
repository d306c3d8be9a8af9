#include "interposer/lookup/libc.h"

#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstddef>

namespace cotenant {
namespace {

// Written out, because a sanitizer's runtime looks up the very functions that compare strings.
bool begins_with(const char* text, const char* part, bool whole) noexcept {
  for (; *part; ++text, ++part)
    if (*text != *part) return false;
  return !whole || !*text;
}

bool is_c_library(const char* path) noexcept {
  constexpr const char* kNames[] = {"/libc.so", "/libc-", "/libdl", "/ld-musl"};
  for (; *path; ++path)
    for (const char* name : kNames)
      if (begins_with(path, name, false)) return true;
  return false;
}

std::size_t count_symbols(const Elf32_Word* gnu_hash) noexcept {
  const Elf32_Word buckets = gnu_hash[0];
  const Elf32_Word first = gnu_hash[1];
  const Elf32_Word bloom_words = gnu_hash[2];
  const auto* bucket = gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(Elf32_Word));
  const auto* chain = bucket + buckets;
  Elf32_Word last = 0;
  for (Elf32_Word i = 0; i < buckets; ++i) last = bucket[i] > last ? bucket[i] : last;
  if (last < first) return first;
  while ((chain[last - first] & 1) == 0) ++last;
  return last + 1;
}

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const Elf32_Word* gnu_hash = nullptr;
  const ElfW(Dyn) * name = nullptr;
  const ElfW(Half) * versions = nullptr;
};

Tables tables_of(const link_map& object) noexcept {
  Tables found;
  for (const ElfW(Dyn)* dynamic = object.l_ld; dynamic->d_tag != DT_NULL; ++dynamic) {
    // glibc has already added the load address to these, musl has not.
    const auto given = dynamic->d_un.d_ptr;
    const auto at = given < object.l_addr ? object.l_addr + given : given;
    if (dynamic->d_tag == DT_SYMTAB) found.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
    if (dynamic->d_tag == DT_STRTAB) found.strings = reinterpret_cast<const char*>(at);
    if (dynamic->d_tag == DT_GNU_HASH) found.gnu_hash = reinterpret_cast<const Elf32_Word*>(at);
    if (dynamic->d_tag == DT_VERSYM) found.versions = reinterpret_cast<const ElfW(Half)*>(at);
    if (dynamic->d_tag == DT_SONAME) found.name = dynamic;
  }
  return found;
}

void* find_in(const link_map& object, const char* symbol) noexcept {
  const auto [symbols, strings, gnu_hash, name, versions] = tables_of(object);
  if (!symbols || !strings || !gnu_hash) return nullptr;
  constexpr unsigned kOldVersion = 0x8000;  // kept for programs that were linked long ago
  const std::size_t count = count_symbols(gnu_hash);
  void* old = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    if (symbols[i].st_shndx == SHN_UNDEF || !begins_with(strings + symbols[i].st_name, symbol, true)) continue;
    void* found = reinterpret_cast<void*>(object.l_addr + symbols[i].st_value);
    if (!versions || (versions[i] & kOldVersion) == 0) return found;
    old = found;
  }
  return old;
}

// Both C libraries keep the list for debuggers. The names are weak, because each library has only one of them.
#pragma weak _r_debug
extern "C" __attribute__((weak)) const r_debug* _dl_debug_addr;  // musl's

const link_map* first_object() noexcept {
  if (&_r_debug) return _r_debug.r_map;
  return &_dl_debug_addr ? _dl_debug_addr->r_map : nullptr;
}

// Objects are appended to the list, and those that the program started with are never removed. So the list can be read
// up to the C library without the loader's lock.
void* find(const char* symbol) noexcept {
  for (const link_map* object = first_object(); object; object = object->l_next) {
    if (!is_c_library(object->l_name)) continue;
    if (void* found = find_in(*object, symbol)) return found;
  }
  return nullptr;
}

constexpr const char* kLoaders[] = {"dlsym", "dlvsym", "dlopen", "dlmopen"};

void* find_next(const char* symbol) noexcept {
  bool behind = false;
  for (const link_map* object = first_object(); object; object = object->l_next) {
    if (object->l_ld == _DYNAMIC) behind = true;
    else if (void* found = behind ? find_in(*object, symbol) : nullptr) return found;
    if (behind && is_c_library(object->l_name)) break;
  }
  return find(symbol);
}

}  // namespace

void* real_loader(Loader which) noexcept {
  static std::atomic<void*> known[4]{};
  auto& place = known[static_cast<int>(which)];
  void* found = place.load(std::memory_order_relaxed);
  if (!found) place.store(found = find(kLoaders[static_cast<int>(which)]), std::memory_order_relaxed);
  return found;
}

void* next_loader(Loader which) noexcept {
  static std::atomic<void*> known[4]{};
  auto& place = known[static_cast<int>(which)];
  void* found = place.load(std::memory_order_relaxed);
  if (!found) place.store(found = find_next(kLoaders[static_cast<int>(which)]), std::memory_order_relaxed);
  return found;
}

void* next_function(const char* name) noexcept { return find_next(name); }

const char* own_path() noexcept {
  for (const link_map* object = first_object(); object; object = object->l_next)
    if (object->l_ld == _DYNAMIC) return object->l_name;
  return "";
}

void* exported_by(const link_map& object, const char* symbol) noexcept { return find_in(object, symbol); }

const char* own_name_of(const link_map& object) noexcept {
  const Tables tables = tables_of(object);
  return tables.name && tables.strings ? tables.strings + tables.name->d_un.d_val : nullptr;
}

bool is_behind_us(const link_map& object) noexcept {
  for (const link_map* at = &object; at; at = at->l_next)
    if (at->l_ld == _DYNAMIC) return false;
  return true;
}

Dlsym real_dlsym() noexcept { return reinterpret_cast<Dlsym>(real_loader(Loader::kDlsym)); }
Dlvsym real_dlvsym() noexcept { return reinterpret_cast<Dlvsym>(real_loader(Loader::kDlvsym)); }

}  // namespace cotenant
