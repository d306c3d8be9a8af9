// When the program destroys something, everything that is known of it is discarded.
#pragma once

#include "driver/abi.h"

namespace cotenant {

// The driver is about to destroy this handle, which may be reused for another stream.
void forget_stream(cu::CUstream handle) noexcept;
// The driver is about to destroy this context and its streams.
void context_ends(cu::CUcontext handle) noexcept;
// The primary context of this device is gone. Its handle will be reused for the next one.
void primary_ended(cu::CUdevice device) noexcept;

}  // namespace cotenant
