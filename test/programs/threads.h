#pragma once

#include <functional>

#include "driver/abi.h"

namespace programs {

using namespace cotenant::cu;

// A thread that calls so many times, and is cancelled after a while, perhaps within a call. `let_go` ends what it may wait for.
[[nodiscard]] CUresult cancelled(CUcontext context, unsigned times, unsigned after_us,
                                 const std::function<CUresult()>& call, const std::function<void()>& let_go);

// Launches with a lock that host functions take, too.
[[nodiscard]] CUresult with_lock(const std::function<CUresult()>& launch);
void take_lock();

// As a program that looks how far the GPU has come every 200 launches, and keeps 1,000 queued.
[[nodiscard]] CUresult keep_full(CUstream stream, unsigned times, const std::function<CUresult()>& launch);

// Begins a capture by a function of a later driver.
[[nodiscard]] CUresult begin_later_capture(CUstream stream, CUstreamCaptureMode mode);

// Asks another copy of the driver for its version, and closes it.
[[nodiscard]] CUresult ask_copy();
// Before the first call: asks the system's driver for its version, and uses another copy from then on.
void use_copy();

}  // namespace programs
