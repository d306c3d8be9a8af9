#include "interposer/variants/ptx_images.h"

#include <cstdlib>
#include <cstring>

#include "interposer/base/spin.h"
#include "interposer/lookup/entry.h"

namespace cotenant {
namespace {

using namespace cu;

// The largest amount of PTX that is kept, because it is a second copy of what a library contains.
constexpr std::size_t kMaxOfOne = 8u << 20;
constexpr std::size_t kMaxInAll = 64u << 20;

// The layout of fat binaries; src/ptx/fatbin.ts says how it was found.
constexpr std::uint32_t kWrapperMagic = 0x466243b1;  // what nvcc puts into a program points to the fat binary
constexpr std::uint32_t kFatMagic = 0xba55ed50;
constexpr std::uint16_t kKindPtx = 1;
struct FatHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  // of the part that follows this header
};
struct FatEntry {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t payload_bytes;
  std::uint32_t unused[3];
  std::uint32_t architecture;
};

Spin lock;
PtxImage* first = nullptr;
std::size_t kept = 0;

template <class T>
T read(const unsigned char* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

unsigned architecture() noexcept {
  CUdevice device = 0;
  int major = 0;
  int minor = 0;
  if (real().cuCtxGetDevice(&device) != CUDA_SUCCESS) device = 0;
  if (real().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) != CUDA_SUCCESS ||
      real().cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) != CUDA_SUCCESS)
    return 0;
  return static_cast<unsigned>(major * 10 + minor);
}

struct Part {
  const unsigned char* at;
  std::size_t size;
};

// The entry that the driver would compile: the newest PTX that is not newer than the GPU.
Part entry_of(const unsigned char* fat) noexcept {
  const auto header = read<FatHeader>(fat);
  const unsigned most = architecture();
  const unsigned char* at = fat + header.header_bytes;
  const unsigned char* end = at + header.bytes;
  Part best{nullptr, 0};
  unsigned newest = 0;
  while (at + sizeof(FatEntry) <= end) {
    const auto entry = read<FatEntry>(at);
    const std::uint64_t size = entry.header_bytes + entry.payload_bytes;
    if (entry.header_bytes < sizeof(FatEntry) || size > static_cast<std::uint64_t>(end - at)) break;
    if (entry.kind == kKindPtx && entry.architecture <= most && entry.architecture >= newest) {
      best = {at, size};
      newest = entry.architecture;
    }
    at += size;
  }
  return best;
}

bool looks_like_text(const unsigned char* at) noexcept {
  for (int i = 0; i < 64 && at[i]; ++i) {
    if (at[i] == '.' || at[i] == '/') return true;
    if (at[i] != ' ' && (at[i] < '\t' || at[i] > '\r')) return false;
  }
  return false;
}

void keep(const void* owner, bool library, const FatHeader* header, Part part) noexcept {
  const std::size_t size = part.size + (header ? sizeof *header : 0);
  if (part.size == 0 || size > kMaxOfOne) return;
  auto* image = static_cast<PtxImage*>(std::calloc(1, sizeof(PtxImage)));
  auto* bytes = static_cast<unsigned char*>(std::malloc(size));
  if (image && bytes) {
    if (header) std::memcpy(bytes, header, sizeof *header);
    std::memcpy(bytes + size - part.size, part.at, part.size);
    *image = {owner, library, bytes, size, 1, nullptr};
    Locked locked(lock);
    if (kept + size <= kMaxInAll) {
      kept += size;
      image->next = first;
      first = image;
      return;
    }
  }
  std::free(bytes);
  std::free(image);
}

// Under the lock. The caller frees the returned image.
PtxImage* let_go(PtxImage* image) noexcept {
  if (--image->readers > 0) return nullptr;
  kept -= image->size;
  return image;
}

void release(PtxImage* image) noexcept {
  if (!image) return;
  std::free(image->bytes);
  std::free(image);
}

bool loaded_from(const PtxImage& image, CUmodule module, CUlibrary library) noexcept {
  if (!image.library) return module && image.owner == module;
  if (library) return image.owner == library;
  CUmodule own = nullptr;
  auto* of = static_cast<CUlibrary>(const_cast<void*>(image.owner));
  return module && real().cuLibraryGetModule && real().cuLibraryGetModule(&own, of) == CUDA_SUCCESS && own == module;
}

}  // namespace

void image_loaded(const void* owner, bool library, const void* image) noexcept {
  if (!image) return;
  const auto* at = static_cast<const unsigned char*>(image);
  if (looks_like_text(at))
    return keep(owner, library, nullptr, {at, std::strlen(reinterpret_cast<const char*>(at)) + 1});
  if (read<std::uint32_t>(at) == kWrapperMagic) at = read<const unsigned char*>(at + 8);
  if (!at || read<std::uint32_t>(at) != kFatMagic) return;
  const Part part = entry_of(at);
  const FatHeader header{kFatMagic, 1, sizeof(FatHeader), part.size};
  keep(owner, library, &header, part);
}

void image_unloaded(const void* owner) noexcept {
  PtxImage* gone = nullptr;
  {
    Locked locked(lock);
    for (PtxImage** at = &first; *at; at = &(*at)->next)
      if ((*at)->owner == owner) {
        PtxImage* image = *at;
        *at = image->next;
        gone = let_go(image);
        break;
      }
  }
  release(gone);
}

PtxImage* take_image_of(CUfunction function) noexcept {
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  if (!real().cuFuncGetModule || real().cuFuncGetModule(&module, function) != CUDA_SUCCESS) module = nullptr;
  if (!module && real().cuKernelGetLibrary &&
      real().cuKernelGetLibrary(&library, reinterpret_cast<CUkernel>(function)) != CUDA_SUCCESS)
    library = nullptr;
  // The driver is not called under the lock. There are few images, so one can be found again by its name.
  for (std::size_t skip = 0;; ++skip) {
    PtxImage* image = nullptr;
    {
      Locked locked(lock);
      image = first;
      for (std::size_t i = 0; image && i < skip; ++i) image = image->next;
      if (!image) return nullptr;
      ++image->readers;
    }
    if (loaded_from(*image, module, library)) return image;
    give_back(image);
  }
}

void give_back(PtxImage* image) noexcept {
  PtxImage* gone = nullptr;
  {
    Locked locked(lock);
    gone = let_go(image);
  }
  release(gone);
}

}  // namespace cotenant
