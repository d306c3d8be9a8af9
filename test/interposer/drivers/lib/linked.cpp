// A library that is linked with the driver, and calls a function of it that only later releases have.
#include "driver/abi.h"

namespace cotenant::cu {

extern "C" CUresult cuStreamBeginLaterCapture(CUstream stream, CUstreamCaptureMode mode);

extern "C" __attribute__((visibility("default"))) CUresult begin_later_capture(CUstream stream,
                                                                               CUstreamCaptureMode mode) {
  return cuStreamBeginLaterCapture(stream, mode);
}

}  // namespace cotenant::cu
