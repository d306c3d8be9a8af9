#include "interposer/state/capture.h"

#include <atomic>

#include "interposer/base/clock.h"
#include "interposer/lookup/entry.h"
#include "interposer/process/process.h"

namespace cotenant {

OpenCaptures open_captures;

namespace {

constexpr std::uint64_t kSpinNs = 20'000;
constexpr std::uint64_t kNeverLongerNs = 5'000'000'000;  // a mark is one driver call, but its thread may lose the CPU

// In a recorded process streams are not tracked.
Stream* known_stream(cu::CUstream handle, NullStream meaning) noexcept {
  return role() == Role::kRecord ? nullptr : stream_of(handle, meaning);
}

void count(std::atomic<int>& captures) noexcept {
  __atomic_fetch_add(&cotenant_possible_captures, 1, __ATOMIC_SEQ_CST);
  captures.fetch_add(1, std::memory_order_seq_cst);
}

void discount(std::atomic<int>& captures) noexcept {
  int before = captures.load(std::memory_order_relaxed);
  while (before > 0 && !captures.compare_exchange_weak(before, before - 1, std::memory_order_seq_cst)) {
  }
  if (before > 0) __atomic_fetch_sub(&cotenant_possible_captures, 1, __ATOMIC_SEQ_CST);
}

void begin(Stream* stream) noexcept {
  if (!stream) count(open_captures.unknown);
  else if (!stream->capture.origin.exchange(true, std::memory_order_seq_cst)) count(open_captures.known);
}

void end(Stream* stream) noexcept {
  if (stream) capture_abandoned(*stream);
  else discount(open_captures.unknown);
}

}  // namespace

bool is_in_capture(cu::CUstream handle, NullStream meaning) noexcept {
  const auto ask = meaning == NullStream::kPerThread ? real().cuStreamIsCapturing_ptsz : real().cuStreamIsCapturing;
  cu::CUstreamCaptureStatus status = cu::CU_STREAM_CAPTURE_STATUS_NONE;
  // An error also means that nothing may be added, for instance the legacy stream while a blocking stream is captured.
  return !ask || ask(handle, &status) != cu::CUDA_SUCCESS || status != cu::CU_STREAM_CAPTURE_STATUS_NONE;
}

bool some_stream_captures() noexcept {
  if (open_captures.known.load(std::memory_order_relaxed) > 0 ||
      open_captures.unknown.load(std::memory_order_relaxed) > 0)
    return true;
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    Stream& stream = stream_at(i);
    if (is_special(stream)) continue;  // its handle means another stream in another thread or context
    const MarksAnother exists(stream);  // it is not destroyed meanwhile
    if (!stream.gone.load(std::memory_order_seq_cst) && is_in_capture(stream.handle, NullStream::kLegacy)) return true;
  }
  return false;
}

// The thread that enters a capture sets its flag and then checks for marks in progress; a thread that marks sets its
// flag and then checks for a capture that is entered.
EntersCapture::EntersCapture(Stream* stream) noexcept : stream_(stream) {
  if (!stream_) return;
  stream_->capture.entering.fetch_add(1, std::memory_order_seq_cst);
  wait_for_marks(*stream_);
}

EntersCapture::~EntersCapture() {
  if (stream_) stream_->capture.entering.fetch_sub(1, std::memory_order_release);
}

MarksAnother::MarksAnother(Stream& stream) noexcept : stream_(stream) {
  stream_.capture.marking.fetch_add(1, std::memory_order_seq_cst);
}

MarksAnother::~MarksAnother() { stream_.capture.marking.fetch_sub(1, std::memory_order_release); }

bool MarksAnother::is_allowed() const noexcept {
  return !stream_.gone.load(std::memory_order_seq_cst) &&
         stream_.capture.entering.load(std::memory_order_seq_cst) == 0 &&
         !is_capturing(stream_.handle, NullStream::kLegacy);
}

void wait_for_marks(const Stream& stream) noexcept {
  if (stream.capture.marking.load(std::memory_order_seq_cst) == 0) return;
  const std::uint64_t started = now_ns();
  while (stream.capture.marking.load(std::memory_order_acquire) != 0 && now_ns() - started < kNeverLongerNs)
    spin_then_nap(started, kSpinNs);
}

BeginsCapture::BeginsCapture(cu::CUstream handle, NullStream meaning) noexcept
    : handle_(handle),
      meaning_(meaning),
      stream_(known_stream(handle, meaning)),
      counted_(!is_capturing(handle, meaning)),
      enters_(stream_) {
  if (counted_) begin(stream_);
}

BeginsCapture::~BeginsCapture() {
  if (counted_ && !is_capturing(handle_, meaning_)) end(stream_);
}

EndsCapture::EndsCapture(cu::CUstream handle, NullStream meaning) noexcept
    : handle_(handle), meaning_(meaning), was_capturing_(is_capturing(handle, meaning)) {}

EndsCapture::~EndsCapture() {
  if (was_capturing_ && !is_capturing(handle_, meaning_)) end(known_stream(handle_, meaning_));
}

void capture_abandoned(Stream& stream) noexcept {
  if (stream.capture.origin.exchange(false, std::memory_order_seq_cst)) discount(open_captures.known);
}

void forget_captures() noexcept {
  const int open = open_captures.known.exchange(0) + open_captures.unknown.exchange(0);
  __atomic_fetch_sub(&cotenant_possible_captures, open, __ATOMIC_RELAXED);
}

}  // namespace cotenant
