// Cubins. What a kernel is given and needs stands in sections .nv.info of numbered attributes.
#include <elf.h>

#include <algorithm>
#include <cstring>

#include "softgpu/image/image.h"

namespace cotenant::soft::image {
namespace {

constexpr unsigned kMachine = 190;         // EM_CUDA
constexpr unsigned char kEntryPoint = 0x10;  // in st_other: a kernel, and no device function

constexpr std::size_t kReservedShared = 1024;

enum Attribute : unsigned char {
  kMaxThreads = 0x05,
  kRequiredThreads = 0x10,
  kParameter = 0x17,
  kParamBytes = 0x19,
  kRegisters = 0x2f,
};

class Cubin {
 public:
  Cubin(const unsigned char* bytes, std::size_t size) : bytes_(bytes), size_(size) {}

  bool open() {
    const auto* header = at<Elf64_Ehdr>(0);
    if (header == nullptr || header->e_shentsize != sizeof(Elf64_Shdr)) return false;
    sections_ = at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
    count_ = header->e_shnum;
    if (sections_ == nullptr || header->e_shstrndx >= count_) return false;
    names_ = &sections_[header->e_shstrndx];
    for (unsigned i = 0; i < count_; ++i) {
      if (sections_[i].sh_type != SHT_SYMTAB || sections_[i].sh_link >= count_) continue;
      symbols_ = at<Elf64_Sym>(sections_[i].sh_offset, sections_[i].sh_size / sizeof(Elf64_Sym));
      symbol_count_ = symbols_ == nullptr ? 0 : sections_[i].sh_size / sizeof(Elf64_Sym);
      symbol_names_ = &sections_[sections_[i].sh_link];
    }
    return true;
  }

  template <class T>
  [[nodiscard]] const T* at(std::uint64_t offset, std::size_t count = 1) const {
    if (offset > size_ || count > (size_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(bytes_ + offset);
  }

  [[nodiscard]] std::string text(const Elf64_Shdr& table, std::uint32_t offset) const {
    const char* begin = offset < table.sh_size ? at<char>(table.sh_offset + offset, table.sh_size - offset) : nullptr;
    return begin == nullptr ? std::string() : std::string(begin, strnlen(begin, table.sh_size - offset));
  }

  [[nodiscard]] const Elf64_Shdr* section(const std::string& name) const {
    for (unsigned i = 0; i < count_; ++i) {
      if (text(*names_, sections_[i].sh_name) == name) return &sections_[i];
    }
    return nullptr;
  }

  [[nodiscard]] const Elf64_Shdr* section(unsigned index) const { return index < count_ ? &sections_[index] : nullptr; }
  [[nodiscard]] std::string name(const Elf64_Shdr& section) const { return text(*names_, section.sh_name); }
  [[nodiscard]] std::string name(const Elf64_Sym& symbol) const { return text(*symbol_names_, symbol.st_name); }
  [[nodiscard]] std::size_t symbols() const { return symbol_count_; }
  [[nodiscard]] const Elf64_Sym& symbol(std::size_t index) const { return symbols_[index]; }

  // Calls `each(attribute, value, bytes)` for all attributes of a section; a short value is in the record itself.
  template <class F>
  void attributes(const Elf64_Shdr* section, F each) const {
    const auto* words = section == nullptr ? nullptr : at<unsigned char>(section->sh_offset, section->sh_size);
    for (std::size_t i = 0; words != nullptr && i + 4 <= section->sh_size;) {
      const unsigned char format = words[i];
      const std::size_t value = words[i + 2] | std::size_t{words[i + 3]} << 8;
      const std::size_t length = format == 4 ? value : 0;
      if (length > section->sh_size - i - 4) return;
      if (format == 4) each(words[i + 1], words + i + 4, length);
      else each(words[i + 1], words + i + 2, std::size_t{2});
      i += 4 + length;
    }
  }

 private:
  const unsigned char* bytes_;
  std::size_t size_;
  const Elf64_Shdr* sections_ = nullptr;
  unsigned count_ = 0;
  const Elf64_Shdr* names_ = nullptr;
  const Elf64_Sym* symbols_ = nullptr;
  std::size_t symbol_count_ = 0;
  const Elf64_Shdr* symbol_names_ = nullptr;
};

std::uint32_t word(const unsigned char* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

unsigned half(const unsigned char* at) { return at[0] | unsigned{at[1]} << 8; }

void read_parameter(const unsigned char* value, ptx::Entry& entry) {
  const unsigned ordinal = half(value + 4);
  if (entry.parameters.size() <= ordinal) entry.parameters.resize(ordinal + 1);
  entry.parameters[ordinal] = {half(value + 6), word(value + 8) >> 18};
}

void read_kernel(const Cubin& cubin, const Elf64_Sym& symbol, ptx::Entry& entry) {
  entry.name = cubin.name(symbol);
  cubin.attributes(cubin.section(".nv.info." + entry.name),
                   [&](unsigned char attribute, const unsigned char* value, std::size_t bytes) {
                     if (attribute == kParameter && bytes >= 12) read_parameter(value, entry);
                     if (attribute == kParamBytes) entry.parameter_bytes = half(value);
                     if ((attribute == kMaxThreads || attribute == kRequiredThreads) && bytes >= 12)
                       entry.max_threads = word(value) * word(value + 4) * word(value + 8);
                   });
  for (const ptx::Parameter& parameter : entry.parameters)
    entry.parameter_bytes = std::max(entry.parameter_bytes, parameter.offset + parameter.size);
  const Elf64_Shdr* shared = cubin.section(".nv.shared." + entry.name);
  // On a Hopper the system's part of a block's shared memory is in its section.
  const std::size_t reserved = cubin.section(".nv.shared.reserved.0") == nullptr ? 0 : kReservedShared;
  if (shared != nullptr) entry.shared_bytes = std::max<std::size_t>(shared->sh_size, reserved) - reserved;
  const Elf64_Shdr* code = cubin.section(symbol.st_shndx);
  if (code != nullptr && code->sh_info >> 24 != 0) entry.registers = code->sh_info >> 24;
}

void read_variable(const Cubin& cubin, const Elf64_Sym& symbol, ptx::Program& out) {
  const Elf64_Shdr* section = cubin.section(symbol.st_shndx);
  if (section == nullptr || symbol.st_size == 0) return;
  const std::string place = cubin.name(*section);
  if (place != ".nv.constant3" && place.compare(0, 10, ".nv.global") != 0) return;
  ptx::Global global{cubin.name(symbol), symbol.st_size, {}};
  const auto* initial = section->sh_type == SHT_NOBITS
                            ? nullptr
                            : cubin.at<unsigned char>(section->sh_offset + symbol.st_value, symbol.st_size);
  if (initial != nullptr) global.initial.assign(initial, initial + symbol.st_size);
  out.globals.push_back(std::move(global));
}

}  // namespace

std::size_t cubin_size(const void* elf) {
  // Each byte says whether there is another.
  const auto* text = static_cast<const char*>(elf);
  if (std::strncmp(text, ELFMAG, SELFMAG) != 0 || text[EI_CLASS] != ELFCLASS64) return 0;
  const auto& header = *static_cast<const Elf64_Ehdr*>(elf);
  if (header.e_machine != kMachine) return 0;
  // The tables of headers stand last, in either order.
  const std::size_t sections = header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
  const std::size_t segments = header.e_phoff + std::size_t{header.e_phnum} * header.e_phentsize;
  return std::max(sections, segments);
}

cu::CUresult read_cubin(const unsigned char* elf, std::size_t size, ptx::Program& out) {
  Cubin cubin(elf, size);
  if (size < sizeof(Elf64_Ehdr) || cubin_size(elf) == 0 || !cubin.open()) return cu::CUDA_ERROR_INVALID_IMAGE;
  std::vector<std::uint32_t> kernels;  // symbols of out.entries
  for (std::size_t i = 0; i < cubin.symbols(); ++i) {
    const Elf64_Sym& symbol = cubin.symbol(i);
    if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT) read_variable(cubin, symbol, out);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || (symbol.st_other & kEntryPoint) == 0) continue;
    out.entries.emplace_back();
    read_kernel(cubin, symbol, out.entries.back());
    kernels.push_back(std::uint32_t(i));
  }
  cubin.attributes(cubin.section(".nv.info"), [&](unsigned char attribute, const unsigned char* value, std::size_t n) {
    if (attribute != kRegisters || n < 8) return;
    const auto found = std::find(kernels.begin(), kernels.end(), word(value));
    if (found != kernels.end()) out.entries[std::size_t(found - kernels.begin())].registers = word(value + 4);
  });
  return cu::CUDA_SUCCESS;
}

}  // namespace cotenant::soft::image
