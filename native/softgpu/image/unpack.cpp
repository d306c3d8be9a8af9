// LZ4 is decoded here. Zstandard is decoded by the system's library, which every distribution has for its packages.
#include <dlfcn.h>

#include <cstring>

#include "softgpu/entry/say.h"
#include "softgpu/image/image.h"

#ifdef OLD_GLIBC_FIRST
asm(".symver dlopen, dlopen@" OLD_GLIBC_FIRST);
asm(".symver dlsym, dlsym@" OLD_GLIBC_FIRST);
#endif

namespace cotenant::soft::image {
namespace {

// A length of 15 goes on in bytes of 255, up to one that is smaller.
bool extend(std::size_t& length, const unsigned char*& at, const unsigned char* end) {
  if (length != 15) return true;
  for (unsigned char more = 255; more == 255;) {
    if (at == end) return false;
    length += more = *at++;
  }
  return true;
}

bool unpack_lz4(const unsigned char* at, const unsigned char* end, std::vector<unsigned char>& to) {
  unsigned char* out = to.data();
  unsigned char* const full = out + to.size();
  while (at < end) {
    const unsigned token = *at++;
    std::size_t literals = token >> 4;
    if (!extend(literals, at, end)) return false;
    if (std::size_t(end - at) < literals || std::size_t(full - out) < literals) return false;
    std::memcpy(out, at, literals);
    at += literals;
    out += literals;
    if (at == end) break;  // the last sequence has no match
    if (end - at < 2) return false;
    const std::size_t distance = at[0] | std::size_t{at[1]} << 8;
    at += 2;
    std::size_t match = token & 15;
    if (!extend(match, at, end)) return false;
    match += 4;
    if (distance == 0 || distance > std::size_t(out - to.data()) || std::size_t(full - out) < match) return false;
    for (const unsigned char* from = out - distance; match > 0; --match) *out++ = *from++;
  }
  return out == full;
}

bool unpack_zstd(const unsigned char* from, std::size_t size, std::vector<unsigned char>& to) {
  using Decompress = std::size_t (*)(void*, std::size_t, const void*, std::size_t);
  static const auto decompress = [] {
    void* library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<Decompress>(dlsym(library, "ZSTD_decompress"));
  }();
  if (decompress == nullptr) {
    static Once once;
    say(once, "the software GPU can't read this program's code, which is compressed: install libzstd.so.1");
    return false;
  }
  return decompress(to.data(), to.size(), from, size) == to.size();
}

}  // namespace

bool unpack(Packing packing, const unsigned char* from, std::size_t size, std::vector<unsigned char>& to) {
  return packing == Packing::lz4 ? unpack_lz4(from, from + size, to) : unpack_zstd(from, size, to);
}

}  // namespace cotenant::soft::image
