#include "interposer/kernels/variant_trials.h"

#include <algorithm>

#include "interposer/base/backoff.h"

namespace cotenant {
namespace {

constexpr std::uint32_t kSamples = 3;
// After this many launches the variants measured so far decide: beside many requests most samples are unusable.
constexpr std::uint32_t kMaxTries = 48;
constexpr std::uint32_t kTrialsApart = 256;  // launches
// In percent of the original's duration: the most that a variant may take, and what counts as equally fast.
constexpr std::uint64_t kDearest = 110;
constexpr std::uint64_t kAsFast = 102;

bool is_other_matter(const VariantTrial& trial, const Tried (&tried)[kVariantKinds], std::uint64_t usual_ns) noexcept {
  const int chosen = trial.chosen.load(std::memory_order_relaxed);
  const std::uint64_t then_ns = chosen > 0 ? tried[chosen - 1].ns : 0;
  const std::uint32_t since =
      trial.launches.load(std::memory_order_relaxed) - trial.began.load(std::memory_order_relaxed);
  return since > kTrialsApart && then_ns > 0 && usual_ns > 0 && (usual_ns > 2 * then_ns || then_ns > 2 * usual_ns);
}

}  // namespace

VariantKind choose_variant(const Tried (&tried)[kVariantKinds], std::uint64_t target_ns) noexcept {
  constexpr int kAsItIs = static_cast<int>(VariantKind::kAsItIs);
  const std::uint64_t own_ns = tried[kAsItIs].ns;
  const auto stops_ns = [&](int i) { return tried[i].ns / tried[i].parts; };
  const auto usable = [&](int i) {
    return tried[i].parts > 0 && tried[i].ns > 0 && (own_ns == 0 || tried[i].ns * 100 <= own_ns * kDearest);
  };
  int fastest = kAsItIs;
  int soonest = kAsItIs;
  for (int i = 0; i < kAsItIs; ++i) {
    if (!usable(i)) continue;
    if (soonest == kAsItIs || stops_ns(i) < stops_ns(soonest)) soonest = i;
    if (stops_ns(i) <= target_ns && (fastest == kAsItIs || tried[i].ns < tried[fastest].ns)) fastest = i;
  }
  if (fastest == kAsItIs) return static_cast<VariantKind>(soonest);
  // Among equally fast variants, the one that stops soonest.
  const std::uint64_t as_fast_ns = tried[fastest].ns * kAsFast / 100;
  for (int i = 0; i < kAsItIs; ++i)
    if (usable(i) && tried[i].ns <= as_fast_ns && stops_ns(i) < stops_ns(fastest)) fastest = i;
  return static_cast<VariantKind>(fastest);
}

VariantKind next_variant(VariantTrial& trial, Tried (&tried)[kVariantKinds], std::uint64_t target_ns,
                         std::uint64_t usual_ns, std::uint64_t now_ns, bool& trying) noexcept {
  // The shortest sample counts: losing the GPU to another context makes samples longer, nothing makes them shorter.
  for (int i = 0; i < kVariantKinds; ++i) tried[i].ns = trial.of[i].shortest_ns();
  const std::uint32_t launch = trial.launches.fetch_add(1, std::memory_order_relaxed);
  if (is_other_matter(trial, tried, usual_ns)) {
    for (Estimate& one : trial.of) one.samples.store(0, std::memory_order_relaxed);
    trial.began.store(launch, std::memory_order_relaxed);
    trial.chosen.store(0, std::memory_order_relaxed);
    trial.repeats.store(0, std::memory_order_relaxed);
    trial.again_ns.store(0, std::memory_order_relaxed);
    for (Tried& one : tried) one.ns = 0;
  }
  std::uint64_t again_ns = trial.again_ns.load(std::memory_order_relaxed);
  if (again_ns != 0 && now_ns >= again_ns &&
      trial.again_ns.compare_exchange_strong(again_ns, 0, std::memory_order_relaxed)) {
    trial.repeats.fetch_add(1, std::memory_order_relaxed);
    trial.began.store(launch, std::memory_order_relaxed);
  }
  const std::uint32_t repeats = trial.repeats.load(std::memory_order_relaxed);
  trying = launch - trial.began.load(std::memory_order_relaxed) < kMaxTries;
  // In turn, so that a variant with unusable samples does not delay the others.
  for (std::uint32_t i = launch; trying && i < launch + kVariantKinds; ++i) {
    const auto at = static_cast<VariantKind>(i % kVariantKinds);
    const bool possible = at == VariantKind::kAsItIs || tried[i % kVariantKinds].parts > 0;
    if (possible && trial.of[i % kVariantKinds].samples.load(std::memory_order_relaxed) < kSamples + repeats) return at;
  }
  trying = false;
  if (trial.again_ns.load(std::memory_order_relaxed) == 0)
    trial.again_ns.store(now_ns + holds_for_ns(repeats), std::memory_order_relaxed);
  return choose_variant(tried, target_ns);
}

}  // namespace cotenant
