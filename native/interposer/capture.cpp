#include "interposer/capture.h"

#include <atomic>

#include "interposer/entry.h"

namespace cotenant {
namespace {

std::atomic<int> open_captures{0};

}  // namespace

bool captures_open() noexcept { return open_captures.load(std::memory_order_relaxed) > 0; }
void capture_began() noexcept { open_captures.fetch_add(1, std::memory_order_relaxed); }
void capture_ended() noexcept {
  if (open_captures.fetch_sub(1, std::memory_order_relaxed) <= 0) open_captures.store(0, std::memory_order_relaxed);
}

bool capturing(cu::CUstream handle, NullStream meaning) noexcept {
  if (!captures_open()) return false;
  const auto ask = meaning == NullStream::kPerThread ? real().cuStreamIsCapturing_ptsz : real().cuStreamIsCapturing;
  cu::CUstreamCaptureStatus status = cu::CU_STREAM_CAPTURE_STATUS_NONE;
  // An error is also a "keep out": the legacy stream while a blocking stream is captured, for one.
  return !ask || ask(handle, &status) != cu::CUDA_SUCCESS || status != cu::CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace cotenant
