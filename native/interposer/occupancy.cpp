#include "interposer/occupancy.h"

#include <algorithm>
#include <atomic>

#include "interposer/capture.h"
#include "interposer/entry.h"

namespace cotenant {
namespace {

// Direct-mapped: two kernels that share a place ask the driver more often, and are still right, because
// the key is kept beside the answer (in one word, so that no reader sees half of each).
constexpr std::uint32_t kPlaces = 4096;
constexpr std::uint64_t kAnswerBits = 12;
std::atomic<std::uint64_t> places[kPlaces];

std::uint32_t ask(const LaunchShape& shape, std::uint32_t sm_count) noexcept {
  const auto& [gx, gy, gz, bx, by, bz, shared] = shape.of;
  int per_sm = 0;
  if (!real().cuOccupancyMaxActiveBlocksPerMultiprocessor || captures_open()) return 0;
  if (real().cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, shape.function, static_cast<int>(bx * by * bz),
                                                         shared) != cu::CUDA_SUCCESS ||
      per_sm <= 0)
    return 0;
  const auto fit = static_cast<std::uint64_t>(per_sm);
  const std::uint64_t needed = (std::uint64_t{gx} * gy * gz + fit - 1) / fit;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(std::max<std::uint64_t>(needed, 1), sm_count));
}

}  // namespace

std::uint64_t LaunchShape::key() const noexcept {
  auto key = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(function));
  for (const unsigned part : of) key = (key ^ part) * 0x9e3779b97f4a7c15ull + (key >> 29);
  return key ? key : 1;
}

std::uint32_t sms_needed(const LaunchShape& shape, std::uint32_t sm_count) noexcept {
  const std::uint64_t key = shape.key();
  auto& place = places[(key >> 20) % kPlaces];
  const std::uint64_t known = place.load(std::memory_order_relaxed);
  if (known != 0 && known >> kAnswerBits == key >> kAnswerBits)
    return static_cast<std::uint32_t>(known & ((1u << kAnswerBits) - 1));
  const std::uint32_t answer = ask(shape, sm_count);
  if (answer != 0) place.store((key >> kAnswerBits << kAnswerBits) | answer, std::memory_order_relaxed);
  return answer;
}

}  // namespace cotenant
