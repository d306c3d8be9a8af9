#include "interposer/kernels/occupancy.h"

#include <algorithm>
#include <atomic>

#include "interposer/kernels/kernel_table.h"
#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"

namespace cotenant {
namespace {

// Each shape is kept in one of a few places. If all are in use, the first one is overwritten, and the next caller with
// the old shape asks the driver again. The key and the answer are in one word, so no reader sees half of an entry.
constexpr std::uint32_t kPlaces = 4096;
constexpr std::uint32_t kTries = 4;
constexpr std::uint64_t kSmBits = 12;
constexpr std::uint64_t kClassBits = 2;
constexpr std::uint64_t kDurationBits = 12;
constexpr std::uint64_t kAnswerBits = kSmBits + kClassBits + kDurationBits;
std::atomic<std::uint64_t> places[kPlaces];

std::uint64_t pack(const Needs& needs) noexcept {
  const std::uint64_t duration = std::min(needs.duration_us, Needs::kLongestUs);
  return ((duration << kClassBits | static_cast<std::uint64_t>(needs.kernel_class)) << kSmBits) | needs.sms;
}

Needs unpack(std::uint64_t word) noexcept {
  const auto part = [&](std::uint64_t from, std::uint64_t bits) {
    return static_cast<std::uint32_t>((word >> from) & ((std::uint64_t{1} << bits) - 1));
  };
  return {part(0, kSmBits), static_cast<KernelClass>(part(kSmBits, kClassBits)),
          part(kSmBits + kClassBits, kDurationBits)};
}

// The answer with its key, or 0. A stored word is practically never 0, because it has the key's upper bits.
std::uint64_t find(std::uint64_t key) noexcept {
  for (std::uint32_t i = 0; i < kTries; ++i) {
    const std::uint64_t known = places[(key + i) % kPlaces].load(std::memory_order_relaxed);
    if (known != 0 && known >> kAnswerBits == key >> kAnswerBits) return known;
  }
  return 0;
}

void keep(std::uint64_t key, const Needs& needs) noexcept {
  const std::uint64_t word = (key >> kAnswerBits << kAnswerBits) | pack(needs);
  for (std::uint32_t i = 0; i < kTries; ++i) {
    auto& place = places[(key + i) % kPlaces];
    const std::uint64_t known = place.load(std::memory_order_relaxed);
    if (known == 0 || known >> kAnswerBits == key >> kAnswerBits) return place.store(word, std::memory_order_relaxed);
  }
  places[key % kPlaces].store(word, std::memory_order_relaxed);
}

Needs ask(const LaunchShape& shape, std::uint32_t sm_count) noexcept {
  constexpr Needs kNothing{0, KernelClass::kUnknown, 0};
  const auto& [gx, gy, gz, bx, by, bz, shared] = shape.of;
  int per_sm = 0;
  if (!real().cuOccupancyMaxActiveBlocksPerMultiprocessor) return kNothing;
  const BesideCaptures beside;  // it may load the kernel's code
  if (real().cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, shape.function, static_cast<int>(bx * by * bz),
                                                         shared) != cu::CUDA_SUCCESS ||
      per_sm <= 0)
    return kNothing;
  const auto fit = static_cast<std::uint64_t>(per_sm);
  const std::uint64_t needed = (std::uint64_t{gx} * gy * gz + fit - 1) / fit;
  const auto sms = static_cast<std::uint32_t>(std::min<std::uint64_t>(std::max<std::uint64_t>(needed, 1), sm_count));
  const protocol::KernelEntry* entry = profile_of(shape);
  if (!entry) return {sms, KernelClass::kUnknown, 0};
  return {sms, class_of(*entry), (entry->durationNs + 999) / 1000};
}

}  // namespace

Needs needs_of(const LaunchShape& shape, std::uint32_t sm_count) noexcept {
  const std::uint64_t key = shape.key();
  if (const std::uint64_t known = find(key)) return unpack(known);
  const Needs answer = ask(shape, sm_count);
  if (answer.sms != 0) keep(key, answer);
  return answer;
}

Needs needs_of_graph(const LaunchShape& shape) noexcept { return unpack(find(shape.key())); }

void note_needs_of_graph(const LaunchShape& shape, const Needs& needs) noexcept { keep(shape.key(), needs); }

}  // namespace cotenant
