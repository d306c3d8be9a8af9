// Stream capture is left alone: nothing of ours is recorded into somebody's graph, and no call of ours breaks a capture.
// While no capture is open in the process the question costs one load.
#pragma once

#include <atomic>

#include "driver/abi.h"
#include "interposer/lookup/beside_captures.h"
#include "interposer/state/streams.h"

namespace cotenant {

// Captures that are open in this process: of streams that we keep books on, exactly; of others by the calls that begin
// and end them.
struct OpenCaptures {
  std::atomic<int> known{0};
  std::atomic<int> unknown{0};
};
extern OpenCaptures open_captures;
[[nodiscard]] inline bool has_open_captures() noexcept {
  return open_captures.known.load(std::memory_order_relaxed) > 0 ||
         open_captures.unknown.load(std::memory_order_relaxed) > 0;
}

// Whether a call on this stream would be captured, or would disturb a capture elsewhere. The second asks the driver.
[[nodiscard, gnu::cold]] bool is_in_capture(cu::CUstream handle, NullStream meaning) noexcept;
[[nodiscard]] inline bool is_capturing(cu::CUstream handle, NullStream meaning) noexcept {
  return has_open_captures() && is_in_capture(handle, meaning);
}

// Lives during a call of the application that may put `stream` (null: unknown) into a capture. Another thread's mark in
// it is in the driver's hands by then, or is left out.
class EntersCapture {
 public:
  explicit EntersCapture(Stream* stream) noexcept;
  ~EntersCapture();
  EntersCapture(const EntersCapture&) = delete;
  EntersCapture& operator=(const EntersCapture&) = delete;

 private:
  Stream* stream_;
};

// Lives while a thread puts a mark into a stream in which it does not launch itself.
class MarksAnother {
 public:
  explicit MarksAnother(Stream& stream) noexcept;
  ~MarksAnother();
  MarksAnother(const MarksAnother&) = delete;
  MarksAnother& operator=(const MarksAnother&) = delete;

  // False: the mark would be captured, or might be, or the stream is being destroyed.
  [[nodiscard]] bool is_allowed() const noexcept;

 private:
  Stream& stream_;
};

// Lives during the driver's call that begins a capture. The capture counts as open from before the call until it ends
// or its stream goes; if none has begun, until the call returns.
class BeginsCapture {
 public:
  BeginsCapture(cu::CUstream handle, NullStream meaning) noexcept;
  ~BeginsCapture();
  BeginsCapture(const BeginsCapture&) = delete;
  BeginsCapture& operator=(const BeginsCapture&) = delete;

 private:
  cu::CUstream handle_;
  NullStream meaning_;
  Stream* stream_;
  bool counted_;
  EntersCapture enters_;
};

// Lives during the driver's call that ends a capture, which may fail and leave it open.
class EndsCapture {
 public:
  EndsCapture(cu::CUstream handle, NullStream meaning) noexcept;
  ~EndsCapture();
  EndsCapture(const EndsCapture&) = delete;
  EndsCapture& operator=(const EndsCapture&) = delete;

 private:
  cu::CUstream handle_;
  NullStream meaning_;
  bool was_capturing_;
};

// The stream is marked as gone: until other threads' marks in it are in the driver's hands.
void wait_for_marks(const Stream& stream) noexcept;

// The stream goes. A capture that began in it can't be ended any more.
void capture_abandoned(Stream& stream) noexcept;
void forget_captures() noexcept;  // in a forked child

}  // namespace cotenant
