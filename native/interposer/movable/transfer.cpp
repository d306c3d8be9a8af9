#include "interposer/movable/transfer.h"

#include <algorithm>

#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"
#include "interposer/movable/host_pool.h"
#include "interposer/movable/movable.h"

namespace cotenant {

using namespace cu;

namespace {

enum class Direction { kOut, kIn };

bool submit_copies(const Block& block, Direction direction, CUstream stream) noexcept {
  for (std::uint64_t at = 0; at < block.bytes;) {
    std::uint64_t contiguous = 0;
    char* host = pool_at(block.host_at + at, contiguous);
    const std::uint64_t bytes = std::min(contiguous, block.bytes - at);
    const CUresult submitted = direction == Direction::kOut
                                   ? real().cuMemcpyDtoHAsync_v2(host, block.base + at, bytes, stream)
                                   : real().cuMemcpyHtoDAsync_v2(block.base + at, host, bytes, stream);
    if (submitted != CUDA_SUCCESS) return false;
    at += bytes;
  }
  return true;
}

// A stream of its own: the program's may stand in a wait, or do so later.
template <class Submit>
bool in_own_stream(Submit submit) noexcept {
  const BesideCaptures beside;
  CUstream stream = nullptr;
  if (real().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return false;
  const bool submitted = submit(stream);
  const bool done = real().cuStreamSynchronize(stream) == CUDA_SUCCESS;
  static_cast<void>(real().cuStreamDestroy_v2(stream));
  return submitted && done;
}

}  // namespace

bool copy_blocks_out() noexcept {
  return in_own_stream([](CUstream stream) {
    std::uint64_t offset = 0;
    bool submitted = true;
    each_block([&](Block& block) {
      block.host_at = offset;
      offset += block.bytes;
      submitted = submit_copies(block, Direction::kOut, stream);
      return submitted;
    });
    return submitted;
  });
}

bool copy_blocks_in() noexcept {
  return in_own_stream([](CUstream stream) {
    bool submitted = true;
    each_block([&](Block& block) {
      if (block.parked) submitted = submit_copies(block, Direction::kIn, stream);
      return submitted;
    });
    return submitted;
  });
}

}  // namespace cotenant
