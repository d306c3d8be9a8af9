#include "interposer/products/product.h"

#include <algorithm>

#include "gate/hold.h"
#include "gate/parts.h"
#include "interposer/base/backoff.h"
#include "interposer/base/clock.h"
#include "interposer/base/table.h"
#include "interposer/lookup/entry.h"
#include "interposer/process/process.h"
#include "interposer/products/division.h"
#include "interposer/state/capture.h"
#include "interposer/state/gpu.h"

namespace cotenant {

namespace {

constexpr std::uint32_t kSamples = 2;      // of a product, before it counts as long
constexpr std::uint32_t kPartSamples =
    5;  // before its parts are judged; from several calls, because a disturbance is short
constexpr std::uint32_t kLastSamples = 3;  // of the last part, which is launched once in a call
constexpr std::uint64_t kOverheadNs = 4'000;  // what timing one launch adds to it
constexpr std::uint64_t kTooMuchPercent = 8;  // more than expected

constexpr std::size_t kProducts = 512;  // a power of two
__constinit Table<Known, kProducts> products;

void forget(Estimate& estimate, std::uint32_t expected_ns) noexcept {
  estimate.sightings.store(0, std::memory_order_relaxed);
  estimate.samples.store(0, std::memory_order_relaxed);
  estimate.typical_ns.store(expected_ns, std::memory_order_relaxed);
  estimate.expected_ns.store(expected_ns, std::memory_order_relaxed);
}

// The shortest sample in ns, once there are so many samples; 0: there are not. Another context on the GPU, or a CPU
// that was late, makes a sample longer. Nothing makes one shorter.
std::uint64_t shortest_ns_of(const Estimate& estimate, std::uint32_t samples) noexcept {
  return estimate.samples.load(std::memory_order_relaxed) >= samples ? estimate.shortest_ns() : 0;
}

// A refusal may rest on a disturbed measurement, or be right only for a time, so it is not final.
void note_refusal(Side& side) noexcept {
  side.again_ns.store(now_ns() + holds_for_ns(side.refusals.fetch_add(1, std::memory_order_relaxed)),
                      std::memory_order_relaxed);
}

void begin_again(Side& side) noexcept {
  int search = kDone;
  side.search.compare_exchange_strong(search, kNotYet, std::memory_order_relaxed);
  side.again_ns.store(0, std::memory_order_relaxed);
  side.least_us.store(0, std::memory_order_relaxed);
  side.count.store(0, std::memory_order_relaxed);
}

// If the parts together take clearly longer than the whole did, they are made longer. If the whole took half as long
// again as its parts, it was timed while others had the GPU, and is timed again.
void judge(Known& known, Side& side, std::int64_t lines, std::int64_t count) noexcept {
  const auto full = static_cast<std::uint64_t>(lines / count);
  const bool rest = lines % count > 0;
  const std::uint64_t part = shortest_ns_of(side.part, kPartSamples);
  const std::uint64_t last = rest ? shortest_ns_of(side.last, kLastSamples) : 0;
  if (part == 0 || (rest && last == 0)) return;
  const std::uint64_t together = full * part + last;
  const std::uint64_t whole = shortest_ns_of(known.whole, kSamples);
  const std::uint64_t percent = side.expected_percent.load(std::memory_order_relaxed) + kTooMuchPercent;
  const bool too_long = together > whole * percent / 100 + (full + 1) * kOverheadNs;
  const bool mistimed = together * 3 < whole * 2;
  if (!too_long && !mistimed) return;
  if (environment().debug)
    tell("parts of %ld of %ld take %lu us together, the whole took %lu us: %s.", count, lines, together / 1000,
         whole / 1000, too_long ? "they are made longer" : "it is timed again");
  side.count.store(0, std::memory_order_relaxed);
  if (mistimed) return forget(known.whole, 0);
  side.least_us.store(static_cast<std::uint32_t>(part * 3 / 2000), std::memory_order_relaxed);
  note_refusal(side);
}

// The lines of a part; kWhole: the product is not divided in this way; 0: this cannot be decided now.
std::int64_t part_lines(Side& side, const Division& way, std::uint32_t sms, std::uint64_t us,
                        std::uint32_t target_us) noexcept {
  const std::uint64_t again_ns = side.again_ns.load(std::memory_order_relaxed);
  if (side.target_us.exchange(target_us, std::memory_order_relaxed) != target_us ||
      (again_ns != 0 && now_ns() >= again_ns))
    begin_again(side);
  std::int64_t count = side.count.load(std::memory_order_relaxed);
  if (count != 0) return count;
  const Product& product = way.product;
  count = divide(side, LibraryCall(way), way.pinned, sms, us, target_us);
  if (count == 0) return 0;
  if (count != kWhole) {
    const auto share = [&](std::int64_t lines) {
      return static_cast<std::uint32_t>(us * 1000 * static_cast<std::uint64_t>(lines) /
                                        static_cast<std::uint64_t>(product.count)) +
             1;
    };
    forget(side.part, share(count));
    forget(side.last, share(product.count % count));
  } else {
    note_refusal(side);
  }
  side.count.store(count, std::memory_order_relaxed);
  return count;
}

// The first of the ways in which the product can be divided, and how many lines a part has; kWays: none.
std::uint32_t choose_way(Known& known, const Division* ways, std::uint32_t count, std::uint32_t sms,
                         std::uint32_t target_us, std::int64_t& lines) noexcept {
  const std::uint64_t us = shortest_ns_of(known.whole, kSamples) / 1000;
  if (!is_long(us, target_us)) return kWays;
  for (std::uint32_t i = 0; i < count; ++i) {
    lines = part_lines(known.sides[i], ways[i], sms, us, target_us);
    if (lines == 0) return kWays;
    if (lines != kWhole && lines < ways[i].product.count) return i;
  }
  return kWays;
}

// Whether the library would launch now what it launched when the product was divided. The handle, its mode and its
// workspace may be others now. With an algorithm the parts follow from the whole. Otherwise the library chooses for
// them too.
bool launches_as_before(const LibraryCall& plain, const Pinned* told, std::int64_t count) noexcept {
  const Product& product = plain.product;
  const std::int64_t left = product.count % count;
  LibraryLaunches whole{}, part{};
  if (!plain.ask(0, product.count, whole)) return false;
  if (told) return same_launches(told->launched, whole);
  return plain.ask(0, count, part) && same_sums(whole, part, product, count) &&
         (left == 0 || (plain.ask(product.count - left, left, part) && same_sums(whole, part, product, left)));
}

}  // namespace

int give_product(std::uint64_t key, const Division* ways, std::uint32_t count) noexcept {
  Gpu* gpu = gpu_at_work();
  const Link* link = gpu ? gpu->link.load(std::memory_order_acquire) : nullptr;
  const auto as_it_is = [&] { return ways[0].part(ways[0].call, 0, ways[0].product.count); };
  // A product inside another is a part of the library's own way to do it.
  if (!link || product_call || has_open_captures()) return as_it_is();
  const Rules rules = read_rules(link->region->settings);
  Known* known = rules.split_products_us > 0 ? products.find_or_add(key).place : nullptr;
  if (!known) return as_it_is();
  const auto whole = [&] { return LibraryCall(ways[0]).run(0, ways[0].product.count, &known->whole); };
  const bool gated = is_gated(rules, link->region->roster.registered.load(std::memory_order_relaxed) != 0);
  std::int64_t lines = kWhole;
  const std::uint32_t chosen =
      gated ? choose_way(*known, ways, count, gpu->identity.sm_count, rules.split_products_us, lines) : kWays;
  if (chosen == kWays) return whole();

  const Division& way = ways[chosen];
  Side& side = known->sides[chosen];
  LibraryCall call(way);
  const Pinned* const told = way.pinned ? side.pinned.load(std::memory_order_acquire) : nullptr;
  if (!launches_as_before(call, told, lines)) {
    if (side.again_ns.load(std::memory_order_relaxed) == 0) note_refusal(side);
    return whole();
  }
  const auto in_parts = [&] {
    for (std::int64_t first = 0; first < way.product.count; first += lines) {
      const std::int64_t some = std::min(lines, way.product.count - first);
      const int status = call.run(first, some, some == lines ? &side.part : &side.last);
      if (status != 0) return status;
    }
    link->best_effort().splitProducts.fetch_add(1, std::memory_order_relaxed);
    judge(*known, side, way.product.count, lines);
    return 0;
  };
  if (!told) return in_parts();
  const Workspace workspace(*way.pinned, told->algorithm);
  if (!workspace.ready()) return whole();
  call.pin(told->algorithm, workspace.at());
  return in_parts();
}

}  // namespace cotenant
