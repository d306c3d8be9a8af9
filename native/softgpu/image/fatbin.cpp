// The container: a wrapper that the runtime registers, a header, and one part after the other.
#include <cstring>

#include "softgpu/image/image.h"

namespace cotenant::soft::image {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243b1;
constexpr std::uint32_t kContainerMagic = 0xba55ed50;

struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* container;
  const void* prelinked;
};

struct Container {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  // of all parts
};

struct Part {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;
  std::uint32_t packed_bytes;
  std::uint32_t options_at;
  std::uint16_t minor;
  std::uint16_t major;
  std::uint32_t capability;
  std::uint32_t name_at;
  std::uint32_t name_bytes;
  std::uint64_t flags;
  std::uint64_t reserved;
  std::uint64_t unpacked_bytes;
};
static_assert(sizeof(Part) == 64);

constexpr std::uint16_t kPtx = 1;
constexpr std::uint16_t kCubin = 2;
constexpr std::uint64_t kLz4 = 0x2000;
constexpr std::uint64_t kZstd = 0x8000;

// Machine code runs on later devices of its major version, PTX on all later ones. 0: neither.
unsigned suitability(const Part& part, unsigned capability) {
  if (part.capability > capability) return 0;
  if (part.kind == kCubin && part.capability / 10 == capability / 10) return 1000 + part.capability;
  return part.kind == kPtx ? part.capability : 0;
}

cu::CUresult read_part(const Part& part, ptx::Program& out) {
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(&part) + part.header_bytes;
  std::size_t size = part.bytes;
  std::vector<unsigned char> unpacked;
  if ((part.flags & (kLz4 | kZstd)) != 0) {
    unpacked.resize(part.unpacked_bytes);
    const Packing packing = (part.flags & kLz4) != 0 ? Packing::lz4 : Packing::zstd;
    if (!unpack(packing, bytes, part.packed_bytes, unpacked)) return cu::CUDA_ERROR_INVALID_IMAGE;
    bytes = unpacked.data();
    size = unpacked.size();
  }
  if (part.kind == kCubin) return read_cubin(bytes, size, out);
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  return ptx::parse(text.c_str(), out);
}

cu::CUresult read_container(const void* image, unsigned capability, ptx::Program& out) {
  const auto& container = *static_cast<const Container*>(image);
  const auto* at = static_cast<const unsigned char*>(image) + container.header_bytes;
  const auto* const end = at + container.bytes;
  const Part* best = nullptr;
  while (std::size_t(end - at) >= sizeof(Part)) {
    const auto* part = reinterpret_cast<const Part*>(at);
    if (part->header_bytes < sizeof(Part) || part->bytes > std::size_t(end - at) - part->header_bytes) break;
    if (suitability(*part, capability) > (best == nullptr ? 0 : suitability(*best, capability))) best = part;
    at += part->header_bytes + part->bytes;
  }
  return best == nullptr ? cu::CUDA_ERROR_NO_BINARY_FOR_GPU : read_part(*best, out);
}

}  // namespace

cu::CUresult read(const void* image, unsigned capability, ptx::Program& out) {
  if (image == nullptr) return cu::CUDA_ERROR_INVALID_VALUE;
  std::uint32_t magic = 0;
  if (std::memchr(image, 0, sizeof magic) == nullptr) std::memcpy(&magic, image, sizeof magic);
  if (magic == kWrapperMagic) return read(static_cast<const Wrapper*>(image)->container, capability, out);
  if (magic == kContainerMagic) return read_container(image, capability, out);
  const std::size_t size = cubin_size(image);
  if (size != 0) return read_cubin(static_cast<const unsigned char*>(image), size, out);
  return ptx::parse(static_cast<const char*>(image), out);
}

}  // namespace cotenant::soft::image
