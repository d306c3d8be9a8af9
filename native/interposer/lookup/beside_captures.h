// Calls of our own that a stream capture of the application must not notice.
#pragma once

#include "driver/abi.h"

namespace cotenant {

// While a capture is open, other threads may not make calls that the driver holds for unsafe: allocate, register, load
// code, query an event. A capture may begin at any time, so such calls of ours are made while one of these lives: then
// the driver lets this thread make them, and no capture breaks.
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
