// What the program is about to destroy, or has: everything known of it is void.
#pragma once

#include "driver/abi.h"

namespace cotenant {

// The driver is about to destroy this handle; it may come back as another stream.
void forget_stream(cu::CUstream handle) noexcept;
// The driver is about to destroy this context, and its streams with it.
void context_ends(cu::CUcontext handle) noexcept;
// The primary context of this device is gone; its handle will be used again for the next one.
void primary_ended(cu::CUdevice device) noexcept;

}  // namespace cotenant
