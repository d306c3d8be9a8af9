// Stream capture is left alone: nothing of ours may be recorded into somebody's graph. While no capture
// is open in the process the question costs one load.
#pragma once

#include "driver/abi.h"
#include "interposer/gpu.h"

namespace cotenant {

[[nodiscard]] bool captures_open() noexcept;
void capture_began() noexcept;
void capture_ended() noexcept;

// Whether a call on this stream would be captured, or would disturb a capture elsewhere.
[[nodiscard]] bool capturing(cu::CUstream handle, NullStream meaning) noexcept;

}  // namespace cotenant
