#include "interposer/calls/memory.h"

#include <algorithm>

namespace cotenant {

std::uint64_t array_bytes(unsigned format, unsigned channels, std::uint64_t width, std::uint64_t height,
                          std::uint64_t depth) noexcept {
  // CUarray_format: 1/8 = 8 bit, 2/9/16 = 16 bit, 3/10/32 = 32 bit; others are rare and counted as 32.
  const unsigned low = format & 0xf;
  const std::uint64_t element = format == 0x10         ? 2
                                : format == 0x20       ? 4
                                : low == 1 || low == 8 ? 1
                                : low == 2 || low == 9 ? 2
                                                       : 4;
  return element * std::max(channels, 1u) * std::max<std::uint64_t>(width, 1) * std::max<std::uint64_t>(height, 1) *
         std::max<std::uint64_t>(depth, 1);
}

}  // namespace cotenant
