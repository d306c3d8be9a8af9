#include "interposer/products/division.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "gate/parts.h"
#include "interposer/kernels/function.h"
#include "interposer/process/process.h"

namespace cotenant {
namespace {

constexpr std::uint32_t kLooks = 24;  // divisions to look at; the library is asked twice for each

// Looks for the algorithm that makes cublasLt launch what the library launches for the whole. False: another thread is
// looking.
bool find_algorithm(Side& side, const LibraryCall& call, const PinnedProduct& pinned,
                    const LibraryLaunches& whole) noexcept {
  int search = kNotYet;
  if (!side.search.compare_exchange_strong(search, kSearching, std::memory_order_acq_rel)) return search == kDone;
  LtAlgorithm all[PinnedProduct::kAlgorithms];
  const int count = pinned.algorithms(all);
  const Pinned* found = nullptr;
  for (int i = 0; i < count && !found; ++i) {
    LibraryCall with = call;
    with.pin(all[i], all[i].workspace ? kNoMemory : 0);
    LibraryLaunches launched{};
    if (!with.ask(0, call.product.count, launched) || !same_launches(whole, launched)) continue;
    void* memory = std::malloc(sizeof(Pinned));
    if (memory) found = new (memory) Pinned{all[i], whole};
  }
  side.pinned.store(found, std::memory_order_release);
  side.search.store(kDone, std::memory_order_release);
  return true;
}

// The tiles of the result in this many lines.
std::uint64_t tiles_in(const Product& product, Tile tile, std::int64_t lines) noexcept {
  const auto fit = [](std::int64_t length, std::uint32_t side) {
    return static_cast<std::uint64_t>((length + side - 1) / side);
  };
  if (product.lines == Lines::kMatrices)
    return fit(product.across, tile.a * tile.b) * static_cast<std::uint64_t>(lines);
  const bool rows = product.lines == Lines::kRows;
  return fit(product.across, rows ? tile.b : tile.a) * fit(lines, rows ? tile.a : tile.b);
}

// Prints what was found out about a product, under COTENANT_DEBUG.
void say(const Product& product, std::uint64_t us, const char* kernel, std::uint64_t waves, const Parts& parts,
         const char* whole) noexcept {
  if (!environment().debug) return;
  constexpr const char* kNames[] = {"columns", "rows", "matrices"};
  const char* what = kNames[static_cast<int>(product.lines)];
  char how[200];
  if (whole) std::snprintf(how, sizeof how, "whole: %s", whole);
  else
    std::snprintf(how, sizeof how, "in parts of %ld %s, %lu waves each, %lu instead of %lu together", parts.count, what,
                  parts.waves, parts.all_waves, waves);
  tell("product of %ld %s x %ld, depth %ld, %lu us, %.150s: %s", product.count, what, product.across, product.depth, us,
       kernel ? kernel : "?", how);
}

}  // namespace

std::int64_t divide(Side& side, const LibraryCall& plain, const PinnedProduct* pinned, std::uint32_t sms,
                    std::uint64_t us, std::uint64_t target_us) noexcept {
  const Product& product = plain.product;
  const std::uint64_t least_us = side.least_us.load(std::memory_order_relaxed);
  LibraryLaunches whole{}, one{}, rest{};
  if (sms == 0 || !plain.ask(0, product.count, whole)) {
    say(product, us, nullptr, 0, {}, "the library does not say what it would launch");
    return kWhole;
  }
  LibraryCall call = plain;
  if (pinned && !find_algorithm(side, plain, *pinned, whole)) return 0;
  const Pinned* const told = pinned ? side.pinned.load(std::memory_order_acquire) : nullptr;
  if (told) call.pin(told->algorithm, told->algorithm.workspace ? kNoMemory : 0);
  const char* const name = named_function(whole.of[0].function).name;
  const Tile tile = tile_in(name);
  bool same = false;
  Parts best{};
  std::uint64_t waves = 0;
  std::uint32_t pieces = most_parts(us, target_us);
  std::int64_t count = 0;
  for (std::uint32_t looks = 0; looks < kLooks; ++looks) {
    count = next_count(product.count, product.step, pieces, count);
    if (count == 0) break;
    const std::int64_t full = product.count / count;
    const std::int64_t left = product.count % count;
    if (!call.ask(0, count, one) || !same_sums(whole, one, product, count)) continue;
    if (left > 0 && (!call.ask(full * count, left, rest) || !same_sums(whole, rest, product, left))) continue;
    same = true;
    // If the grid is the same for fewer lines, the kernel works through its tiles in a loop.
    const bool loops = blocks_in(one) == blocks_in(whole);
    if (loops && tile.a == 0) continue;
    const auto waves_in = [&](const LibraryLaunches& launched, std::int64_t lines) {
      const std::uint64_t tiles = tile.a == 0 ? 0 : tiles_in(product, tile, lines);
      if (loops) return waves_of(tiles, sms);
      // Grids are rounded up so that neighbours share data. The additional blocks end at once.
      const bool rounded = tiles > 0 && product.lines != Lines::kMatrices;
      const std::uint64_t blocks = blocks_in(launched);
      return waves_of(rounded ? std::min(blocks, tiles * divisions_in(launched)) : blocks, sms);
    };
    waves = waves_in(whole, product.count);
    const std::uint64_t each = waves_in(one, count);
    const auto fulls = static_cast<std::uint64_t>(full);
    const Parts parts{count, fulls + (left > 0), each, fulls * each + (left > 0 ? waves_in(rest, left) : 0)};
    if (each * us < least_us * waves || !is_affordable(parts, waves, us, target_us)) continue;
    if (is_better(parts, best, waves, us, target_us)) best = parts;
  }
  const bool worth = is_worthwhile(best, waves);
  char why[120];
  std::snprintf(why, sizeof why, "%s (%u kernels, %u fills, %s)",
                same ? "its waves can't be divided" : "parts would get other kernels", whole.launches, whole.copies,
                told ? "algorithm known" : "algorithm not found");
  say(product, us, name, waves, best, worth ? nullptr : why);
  if (worth)
    side.expected_percent.store(static_cast<std::uint32_t>(best.all_waves * 100 / waves), std::memory_order_relaxed);
  return worth ? best.count : kWhole;
}

}  // namespace cotenant
