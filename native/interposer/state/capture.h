// Stream capture stays undisturbed: nothing of the interposer is recorded into a graph of the application, and no call
// of the interposer breaks a capture. While the process has no open capture the check costs one load. A function that is not
// known may begin a capture: from its first call on the driver is asked about each stream before anything goes into it.
#pragma once

#include <atomic>

#include "driver/abi.h"
#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/unhooked.h"
#include "interposer/state/streams.h"

namespace cotenant {

// The captures that are open in this process. For known streams the number is exact; for others it counts the calls
// that begin and end captures.
struct OpenCaptures {
  std::atomic<int> known{0};
  std::atomic<int> unknown{0};
};
extern OpenCaptures open_captures;
// False: no stream of the process captures.
[[nodiscard]] inline bool may_capture() noexcept {
  return __atomic_load_n(&cotenant_possible_captures, __ATOMIC_RELAXED) != 0;
}
// The same, and true only if one does. May ask the driver about each stream.
[[nodiscard, gnu::cold]] bool some_stream_captures() noexcept;
[[nodiscard]] inline bool has_open_captures() noexcept { return may_capture() && some_stream_captures(); }

// Whether a call on this stream would be captured, or would disturb a capture of another stream. in_capture() asks the
// driver.
[[nodiscard, gnu::cold]] bool is_in_capture(cu::CUstream handle, NullStream meaning) noexcept;
[[nodiscard]] inline bool is_capturing(cu::CUstream handle, NullStream meaning) noexcept {
  return may_capture() && is_in_capture(handle, meaning);
}

// Exists during a call of the application that may put `stream` into a capture (null: unknown stream). Before the call,
// a mark by another thread in this stream is complete or left out.
class EntersCapture {
 public:
  explicit EntersCapture(Stream* stream) noexcept;
  ~EntersCapture();
  EntersCapture(const EntersCapture&) = delete;
  EntersCapture& operator=(const EntersCapture&) = delete;

 private:
  Stream* stream_;
};

// Exists while a thread puts a mark into a stream other than the one it launches into.
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

// Exists during the driver's call that begins a capture. The capture counts as open from before the call until it ends
// or its stream is destroyed. If the call fails, it counts until the call returns.
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

// Exists during the driver's call that ends a capture, which may fail and leave it open.
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

// The stream is marked as gone: waits until other threads have finished their marks in it.
void wait_for_marks(const Stream& stream) noexcept;

// The stream is destroyed. A capture that began in it can't be ended any more.
void capture_abandoned(Stream& stream) noexcept;
void forget_captures() noexcept;  // in a forked child

}  // namespace cotenant
