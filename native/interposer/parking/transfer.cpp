#include "interposer/parking/transfer.h"

#include <algorithm>

#include "interposer/base/clock.h"
#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"
#include "interposer/movable/blocks.h"
#include "interposer/movable/own_memory.h"
#include "interposer/parking/host_pool.h"

namespace cotenant {

using namespace cu;

namespace {

enum class Direction { kOut, kIn };

// A service's own copies queue behind ours on the GPU's copy engine, so that ours are short beside one: 2 MiB take 40 us.
// Two are in flight, because the bus would idle between them otherwise.
constexpr std::uint64_t kPieceBesideService = std::uint64_t{2} << 20;
constexpr int kInFlight = 2;
constexpr std::uint64_t kLongestPausesNs = 500'000'000;
constexpr std::uint32_t kPauseUs = 50;

// Copies in streams of its own: the program's may stand in a wait, or do so later.
class Copies {
 public:
  Copies(const Link& link, Pauses& pauses) noexcept
      : pauses_(pauses),
        piece_(link.region->roster.registered.load(std::memory_order_relaxed) > 0 ? kPieceBesideService : ~0ull) {
    for (CUstream& stream : streams_)
      if (real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) good_ = false;
  }
  ~Copies() {
    for (CUstream stream : streams_)
      if (stream) static_cast<void>(real().cuStreamDestroy_v2(stream));
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  // False: the driver has refused a copy, or one has failed.
  bool add(const Block& block, Direction direction) noexcept {
    for (std::uint64_t at = 0; good_ && at < block.bytes;) {
      std::uint64_t contiguous = 0;
      char* host = pool_at(block.host_at + at, contiguous);
      const std::uint64_t bytes = std::min({contiguous, block.bytes - at, piece_});
      pauses_.let_requests_pass();
      CUstream stream = streams_[next_++ % kInFlight];
      good_ = real().cuStreamSynchronize(stream) == CUDA_SUCCESS &&
              (direction == Direction::kOut
                   ? real().cuMemcpyDtoHAsync_v2(host, block.base + at, bytes, stream)
                   : real().cuMemcpyHtoDAsync_v2(block.base + at, host, bytes, stream)) == CUDA_SUCCESS;
      at += bytes;
    }
    return good_;
  }

  bool finish() noexcept {
    for (CUstream stream : streams_)
      if (stream && real().cuStreamSynchronize(stream) != CUDA_SUCCESS) good_ = false;
    return good_;
  }

 private:
  Pauses& pauses_;
  std::uint64_t piece_;
  CUstream streams_[kInFlight]{};
  unsigned next_{0};
  bool good_{true};
};

}  // namespace

Pauses::Pauses(const Link& link) noexcept
    : requests_(role() == Role::kBestEffort && link.attached ? &link.hold_page().active : nullptr) {}

void Pauses::let_requests_pass() noexcept {
  if (!requests_ || requests_->load(std::memory_order_relaxed) == 0) return;
  const std::uint64_t began = now_ns();
  std::uint64_t paused = 0;
  while (requests_->load(std::memory_order_relaxed) != 0 && paused_ns_ + paused < kLongestPausesNs) {
    nap_us(kPauseUs);
    paused = now_ns() - began;
  }
  paused_ns_ += paused;
}

bool copy_blocks_out(const Link& link, Pauses& pauses) noexcept {
  const BesideCaptures beside;
  Copies copies(link, pauses);
  each_block([&](Block& block) {
    // Memory that cannot be read stays where it is.
    if (block.leaves && block.own) block.leaves = open_window(block);
    return !block.leaves || copies.add(block, Direction::kOut);
  });
  const bool good = copies.finish();
  each_block([](Block& block) {
    if (block.leaves && block.own) close_window(block);
    return true;
  });
  return good;
}

bool copy_blocks_in(const Link& link) noexcept {
  const BesideCaptures beside;
  Pauses pauses(link);
  Copies copies(link, pauses);
  bool open = true;
  each_block([&](Block& block) {
    if (block.parked && block.own) open = open_window(block);
    return open && (!block.parked || copies.add(block, Direction::kIn));
  });
  const bool good = copies.finish() && open;
  each_block([](Block& block) {
    if (block.parked && block.own) close_window(block);
    return true;
  });
  return good;
}

}  // namespace cotenant
