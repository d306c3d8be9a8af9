// Free memory of a host, or of one of its control groups.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cotenant {

struct MemoryRoom {
  std::uint64_t left;  // bytes besides a reserve for others
  bool is_short;       // no more than twice the reserve is free
};

// `total`, `free`: bytes. The reserve is 1 GiB, or a sixteenth of the total where that is less.
inline MemoryRoom room_of(std::uint64_t total, std::uint64_t free) noexcept {
  const std::uint64_t reserve = std::min(std::uint64_t{1} << 30, total / 16);
  const std::uint64_t left = free - std::min(free, reserve);
  return {left, left <= reserve};
}

// The free memory of a process that both limit.
inline MemoryRoom least(const MemoryRoom& one, const MemoryRoom& other) noexcept {
  return {std::min(one.left, other.left), one.is_short || other.is_short};
}

}  // namespace cotenant
