// How to divide a long matrix product. It consists of pure functions. The interposer asks cuBLAS what each division
// would launch (products/division.cpp). The model knows only the grid of the whole (cotenant_parts() in exports.cpp).
#pragma once

#include <cstdint>

namespace cotenant {

// Blocks run in waves, one block per SM, and a part ends with its last wave. A part that is not a whole number of waves
// therefore leaves SMs idle that the whole product would have used.
struct Parts {
  std::int64_t count;  // lines (columns, rows or matrices) of each part but the last; 0: the product stays whole
  std::uint64_t parts;
  std::uint64_t waves;  // of the longest part
  std::uint64_t all_waves;  // of all parts
};

[[nodiscard]] std::uint64_t waves_of(std::uint64_t blocks, std::uint32_t sms) noexcept;

// Whether a product is so much longer than the target that dividing it is considered.
[[nodiscard]] bool is_long(std::uint64_t us, std::uint64_t target_us) noexcept;

// Whether to divide columns before rows. Parts of columns read the whole first factor again, parts of rows the second.
// `a` and `b` are the bytes of the factors for each term of the sums. Columns lie one after another in memory, so rows
// are better only if they read less than half as much.
[[nodiscard]] bool columns_before_rows(std::int64_t a, std::int64_t b, bool many_columns) noexcept;

// The largest number of parts that is looked at.
[[nodiscard]] std::uint32_t most_parts(std::uint64_t us, std::uint64_t target_us) noexcept;

// The lines of each part for the next smaller number of parts; 0: there is none. `pieces` counts down.
[[nodiscard]] std::int64_t next_count(std::int64_t lines, std::int64_t step, std::uint32_t& pieces,
                                      std::int64_t before) noexcept;

// Whether `a` is a better division of a product of `waves` waves and `us` than `b`. The shorter part is better. Parts
// of up to a quarter more than the target are short enough. Among equals the fewest waves are best, then the fewest
// parts.
[[nodiscard]] bool is_better(const Parts& a, const Parts& b, std::uint64_t waves, std::uint64_t us,
                             std::uint64_t target_us) noexcept;

// Whether the additional waves are acceptable: up to 8 %, or up to 25 % if the product consists of a few long waves,
// which nothing else can divide.
[[nodiscard]] bool is_affordable(const Parts& parts, std::uint64_t waves, std::uint64_t us,
                                 std::uint64_t target_us) noexcept;

// Whether the parts are clearly shorter than the whole.
[[nodiscard]] bool is_worthwhile(const Parts& parts, std::uint64_t waves) noexcept;

// The tile size in a kernel's name ("...128x256..."); 0 x 0 if the name has none.
struct Tile {
  std::uint32_t a;
  std::uint32_t b;
};
[[nodiscard]] Tile tile_in(const char* name) noexcept;

}  // namespace cotenant
