#include "gate/parts.h"

#include <algorithm>

namespace cotenant {
namespace {

constexpr std::uint64_t kMaxParts = 64;
constexpr std::uint32_t kSmallestTile = 16;
constexpr std::uint32_t kLargestTile = 512;

const char* number(const char* at, std::uint32_t& value) noexcept {
  for (value = 0; *at >= '0' && *at <= '9'; ++at)
    value = std::min(value * 10 + static_cast<std::uint32_t>(*at - '0'), 100'000u);
  return at;
}

bool is_tile(std::uint32_t side) noexcept { return side >= kSmallestTile && side <= kLargestTile && side % 8 == 0; }

}  // namespace

std::uint64_t waves_of(std::uint64_t blocks, std::uint32_t sms) noexcept { return (blocks + sms - 1) / sms; }

bool is_long(std::uint64_t us, std::uint64_t target_us) noexcept { return us * 4 > target_us * 5; }

bool columns_before_rows(std::int64_t a, std::int64_t b, bool many_columns) noexcept {
  return many_columns && a <= 2 * b;
}

std::uint32_t most_parts(std::uint64_t us, std::uint64_t target_us) noexcept {
  return static_cast<std::uint32_t>(std::min(2 * us / target_us + 1, kMaxParts));
}

std::int64_t next_count(std::int64_t lines, std::int64_t step, std::uint32_t& pieces, std::int64_t before) noexcept {
  for (; pieces >= 2; --pieces) {
    const std::int64_t even = (lines + pieces - 1) / pieces;
    const std::int64_t count = (even + step - 1) / step * step;
    if (count == before || count >= lines) continue;
    --pieces;
    return count;
  }
  return 0;
}

bool is_affordable(const Parts& parts, std::uint64_t waves, std::uint64_t us, std::uint64_t target_us) noexcept {
  const bool long_waves = us >= 2 * target_us * waves;
  return parts.all_waves * 100 <= waves * (long_waves ? 125u : 108u);
}

bool is_better(const Parts& a, const Parts& b, std::uint64_t waves, std::uint64_t us,
               std::uint64_t target_us) noexcept {
  if (b.count == 0) return true;
  const auto length = [&](const Parts& parts) { return std::max(parts.waves * us / waves, target_us * 5 / 4); };
  if (length(a) != length(b)) return length(a) < length(b);
  if (a.all_waves != b.all_waves) return a.all_waves < b.all_waves;
  return a.parts < b.parts;
}

bool is_worthwhile(const Parts& parts, std::uint64_t waves) noexcept {
  return parts.count > 0 && parts.waves * 4 <= waves * 3;
}

Tile tile_in(const char* name) noexcept {
  for (const char* at = name; at && *at; ++at) {
    if (*at < '0' || *at > '9') continue;
    Tile tile{};
    const char* end = number(at, tile.a);
    if (*end == 'x' && end[1] >= '0' && end[1] <= '9') {
      number(end + 1, tile.b);
      if (is_tile(tile.a) && is_tile(tile.b)) return tile;
    }
    at = end - 1;
  }
  return {0, 0};
}

}  // namespace cotenant
