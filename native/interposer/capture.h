// Stream capture is left alone: nothing of ours may be recorded into somebody's graph. While no capture
// is open in the process the question costs one load.
#pragma once

#include "driver/abi.h"
#include "interposer/gpu.h"

namespace cotenant {

[[nodiscard]] bool captures_open() noexcept;
// The first before the driver begins a capture, the second where it did not, too.
void capture_begins() noexcept;
void capture_ended() noexcept;

// Calls of ours that a capture of another thread forbids (CUDA Driver API, cuThreadExchangeStreamCaptureMode: "potentially
// unsafe") are allowed in this thread while it lives. Such a capture may begin at any time, so nobody asks whether one has.
class RelaxedCapture {
 public:
  RelaxedCapture() noexcept;
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cu::CUstreamCaptureMode before_{};
  bool changed_{false};
};

// While it lives, no capture begins: what is put into a stream of another thread does not land in its graph.
class OtherStreams {
 public:
  OtherStreams() noexcept;
  ~OtherStreams();
  OtherStreams(const OtherStreams&) = delete;
  OtherStreams& operator=(const OtherStreams&) = delete;
  [[nodiscard]] bool may_be_used() const noexcept { return no_capture_; }

 private:
  bool no_capture_;
};

// Whether a call on this stream would be captured, or would disturb a capture elsewhere.
[[nodiscard]] bool capturing(cu::CUstream handle, NullStream meaning) noexcept;

}  // namespace cotenant
