// dlsym and its kin of the C library. We export these names ourselves, so they are looked up in the dynamic
// symbol table of libc (libdl before glibc 2.34) by hand.
#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstring>

#include "interposer/driver.h"

namespace cotenant {
namespace {

struct Wanted {
  const char* symbol;
  void* found;
};

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

int visit(dl_phdr_info* info, std::size_t, void* data) {
  const char* name = info->dlpi_name;
  if (!name || (!std::strstr(name, "/libc.so") && !std::strstr(name, "/libc-") && !std::strstr(name, "/libdl")))
    return 0;
  auto* wanted = static_cast<Wanted*>(data);
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  if (!dynamic) return 0;
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  const Elf32_Word* gnu_hash = nullptr;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const auto at = dynamic->d_un.d_ptr;  // glibc has relocated these
    if (dynamic->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(at);
    if (dynamic->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(at);
    if (dynamic->d_tag == DT_GNU_HASH) gnu_hash = reinterpret_cast<const Elf32_Word*>(at);
  }
  if (!symbols || !strings || !gnu_hash) return 0;
  const std::size_t count = count_symbols(gnu_hash);
  for (std::size_t i = 0; i < count; ++i)
    if (symbols[i].st_shndx != SHN_UNDEF && std::strcmp(strings + symbols[i].st_name, wanted->symbol) == 0) {
      wanted->found = reinterpret_cast<void*>(info->dlpi_addr + symbols[i].st_value);
      return 1;
    }
  return 0;
}

void* find(const char* symbol) noexcept {
  Wanted wanted{symbol, nullptr};
  dl_iterate_phdr(visit, &wanted);
  return wanted.found;
}

}  // namespace

void* real_loader(Loader which) noexcept {
  static constexpr const char* kNames[] = {"dlsym", "dlvsym", "dlopen", "dlmopen"};
  static std::atomic<void*> known[4]{};
  auto& place = known[static_cast<int>(which)];
  void* found = place.load(std::memory_order_relaxed);
  if (!found) place.store(found = find(kNames[static_cast<int>(which)]), std::memory_order_relaxed);
  return found;
}

Dlsym real_dlsym() noexcept { return reinterpret_cast<Dlsym>(real_loader(Loader::kDlsym)); }
Dlvsym real_dlvsym() noexcept { return reinterpret_cast<Dlvsym>(real_loader(Loader::kDlvsym)); }

}  // namespace cotenant
