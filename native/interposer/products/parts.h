// How to divide a long matrix product: pure, no driver.
#pragma once

#include <cstdint>

namespace cotenant {

// Blocks run in waves, one block per SM, and a part ends with its last wave. A part that is not a whole number of waves
// therefore leaves SMs idle that the whole product would have used.
struct Parts {
  std::int64_t count;  // lines (columns, rows or matrices) of each part but the last
  std::uint64_t waves;  // of the longest part
  std::uint64_t all_waves;  // of all parts
};

[[nodiscard]] std::uint64_t waves_of(std::uint64_t blocks, std::uint32_t sms) noexcept;

// Divide columns before rows? Parts of columns read the whole first factor again, parts of rows the second: `a` and `b` bytes for
// each term of the sums. In memory columns lie one after another, so rows are better only where they read less than half as much.
[[nodiscard]] bool columns_before_rows(std::int64_t a, std::int64_t b, bool many_columns) noexcept;

// The next smaller number of parts to look at: how many lines each would have; 0: there is none. `pieces` counts down.
[[nodiscard]] std::int64_t next_count(std::int64_t lines, std::int64_t step, std::uint32_t& pieces,
                                      std::int64_t before) noexcept;

// Is `a` a better division of a product of `waves` waves and `us` than `b` (count 0: none)? Parts of about the target's
// length (a quarter more) are short enough; then the fewest waves, then the fewest parts.
[[nodiscard]] bool is_better(const Parts& a, const Parts& b, std::uint64_t waves, std::uint64_t us,
                             std::uint64_t target_us) noexcept;

// Whether the additional waves are acceptable: up to 8 %, or up to 25 % if the product consists of a few long waves, which
// nothing else can divide.
[[nodiscard]] bool is_affordable(const Parts& parts, std::uint64_t waves, std::uint64_t us,
                                 std::uint64_t target_us) noexcept;

// The tile size in a kernel's name ("...128x256..."); 0 x 0 if the name has none.
struct Tile {
  std::uint32_t a;
  std::uint32_t b;
};
[[nodiscard]] Tile tile_in(const char* name) noexcept;

}  // namespace cotenant
