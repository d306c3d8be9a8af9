// The interposer's own driver calls that must not disturb a stream capture of the application.
#pragma once

#include "driver/abi.h"

namespace cotenant {

// While a capture is open, other threads may not make calls that the driver considers unsafe: allocate, register, load
// code, query an event. A capture may begin at any time, so the interposer makes such calls only while one of these
// objects exists. The driver then allows this thread to make them, and no capture breaks.
class BesideCaptures {
 public:
  BesideCaptures() noexcept;
  ~BesideCaptures();
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  cu::CUstreamCaptureMode mode_;
};

}  // namespace cotenant
