#include "interposer/capture.h"

#include <atomic>

#include "interposer/clock.h"
#include "interposer/entry.h"

namespace cotenant {
namespace {

constexpr std::uint64_t kSpinNs = 20'000;
constexpr std::uint64_t kNeverLongerNs = 5'000'000'000;

std::atomic<int> open_captures{0};
std::atomic<int> in_other_streams{0};

}  // namespace

bool captures_open() noexcept { return open_captures.load(std::memory_order_relaxed) > 0; }
void capture_begins() noexcept {
  open_captures.fetch_add(1, std::memory_order_seq_cst);  // pairs with OtherStreams, which counts itself, then looks
  const std::uint64_t started = now_ns();
  while (in_other_streams.load(std::memory_order_seq_cst) != 0 && now_ns() - started < kNeverLongerNs)
    spin_then_nap(started, kSpinNs);
}
void capture_ended() noexcept {
  if (open_captures.fetch_sub(1, std::memory_order_relaxed) <= 0) open_captures.store(0, std::memory_order_relaxed);
}

RelaxedCapture::RelaxedCapture() noexcept {
  before_ = cu::CU_STREAM_CAPTURE_MODE_RELAXED;
  const auto exchange = real().cuThreadExchangeStreamCaptureMode;
  changed_ = exchange && exchange(&before_) == cu::CUDA_SUCCESS;
}
RelaxedCapture::~RelaxedCapture() {
  if (changed_) real().cuThreadExchangeStreamCaptureMode(&before_);
}

OtherStreams::OtherStreams() noexcept {
  in_other_streams.fetch_add(1, std::memory_order_seq_cst);
  no_capture_ = open_captures.load(std::memory_order_seq_cst) <= 0;
}
OtherStreams::~OtherStreams() { in_other_streams.fetch_sub(1, std::memory_order_release); }

bool capturing(cu::CUstream handle, NullStream meaning) noexcept {
  if (!captures_open()) return false;
  const auto ask = meaning == NullStream::kPerThread ? real().cuStreamIsCapturing_ptsz : real().cuStreamIsCapturing;
  cu::CUstreamCaptureStatus status = cu::CU_STREAM_CAPTURE_STATUS_NONE;
  // An error is also a "keep out": the legacy stream while a blocking stream is captured, for one.
  return !ask || ask(handle, &status) != cu::CUDA_SUCCESS || status != cu::CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace cotenant
