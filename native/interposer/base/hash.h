// Hashes of the interposer's tables. Only fnv1a() is known outside of this process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cotenant {

inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ull;  // 2^64 / golden ratio

// Adds a value to a hash of several values.
[[nodiscard]] constexpr std::uint64_t folded(std::uint64_t hash, std::uint64_t value) noexcept {
  return (hash ^ value) * kGolden + (hash >> 29);
}

// FNV-1a: adds a byte to a hash that began with kFnvBasis.
inline constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325ull;
[[nodiscard]] constexpr std::uint64_t fnv1a(std::uint64_t hash, unsigned char byte) noexcept {
  return (hash ^ byte) * 0x100000001b3ull;
}

// The place in a table of `size` places at which the search for a key begins. `size` is a power of two of at most 2^32.
// Keys may be addresses, or numbers that differ in few bits.
[[nodiscard]] constexpr std::size_t home_of(std::uint64_t key, std::size_t size) noexcept {
  return static_cast<std::size_t>((key * kGolden) >> 32) & (size - 1);
}

}  // namespace cotenant
