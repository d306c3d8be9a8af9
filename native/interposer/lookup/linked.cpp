#include "interposer/lookup/linked.h"

#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstring>

#include "interposer/base/spin.h"
#include "interposer/lookup/driver.h"
#include "interposer/lookup/unhooked.h"

namespace cotenant {
namespace {

#if defined(__x86_64__) || defined(__aarch64__)
using Relocation = ElfW(Rela);
constexpr ElfW(Sxword) kRelocations = DT_RELA;
constexpr ElfW(Sxword) kRelocationBytes = DT_RELASZ;
#else
#error "it is not known how this architecture's objects are relocated"
#endif

struct Object {
  const ElfW(Sym) * symbols{nullptr};
  const char* strings{nullptr};
  // Tables of calls, and of other references.
  const Relocation* relocations[2]{};
  std::size_t bytes[2]{};
};

Object read(const ElfW(Dyn) * dynamic, ElfW(Addr) base) noexcept {
  Object object;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    // glibc has already added the load address to these, musl has not.
    const auto given = dynamic->d_un.d_ptr;
    const auto at = given < base ? base + given : given;
    switch (dynamic->d_tag) {
      case DT_SYMTAB: object.symbols = reinterpret_cast<const ElfW(Sym)*>(at); break;
      case DT_STRTAB: object.strings = reinterpret_cast<const char*>(at); break;
      case DT_JMPREL: object.relocations[0] = reinterpret_cast<const Relocation*>(at); break;
      case DT_PLTRELSZ: object.bytes[0] = dynamic->d_un.d_val; break;
      case kRelocations: object.relocations[1] = reinterpret_cast<const Relocation*>(at); break;
      case kRelocationBytes: object.bytes[1] = dynamic->d_un.d_val; break;
      default: break;
    }
  }
  return object;
}

bool is_linked_with_driver(const ElfW(Dyn) * dynamic, const char* strings) noexcept {
  for (; strings && dynamic->d_tag != DT_NULL; ++dynamic)
    if (dynamic->d_tag == DT_NEEDED && std::strncmp(strings + dynamic->d_un.d_val, "libcuda.so", 10) == 0) return true;
  return false;
}

void look(const Object& object) noexcept {
  for (int kind = 0; object.symbols && kind < 2; ++kind) {
    const std::size_t count = object.relocations[kind] ? object.bytes[kind] / sizeof(Relocation) : 0;
    for (std::size_t i = 0; i < count; ++i) {
      const ElfW(Sym) & symbol = object.symbols[ELF64_R_SYM(object.relocations[kind][i].r_info)];
      const char* name = object.strings + symbol.st_name;
      // The driver's names continue with a capital letter.
      const bool is_name = name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
      if (is_name && symbol.st_shndx == SHN_UNDEF && is_unknown_to_us(name)) note_linked_function(name);
    }
  }
}

int visit(dl_phdr_info* info, std::size_t, void*) noexcept {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    const Object object = read(dynamic, info->dlpi_addr);
    if (is_linked_with_driver(dynamic, object.strings)) look(object);
  }
  return 0;
}

// The loader counts the objects that it has loaded so far.
int read_loads(dl_phdr_info* info, std::size_t, void* loads) noexcept {
  *static_cast<unsigned long long*>(loads) = info->dlpi_adds;
  return 1;
}

}  // namespace

void look_for_linked_functions() noexcept {
  static std::atomic<unsigned long long> seen{0};
  unsigned long long loads = 0;
  dl_iterate_phdr(read_loads, &loads);
  if (seen.exchange(loads, std::memory_order_relaxed) != loads) dl_iterate_phdr(visit, nullptr);
}

}  // namespace cotenant
