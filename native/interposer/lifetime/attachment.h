// How a process meets its GPUs: at its first context on one it asks the agent for a slot.
#pragma once

#include "interposer/state/gpu.h"

namespace cotenant {

// Attaches where the current context was made before it was seen. Null: there is none.
[[nodiscard]] Context* current_context() noexcept;

// The driver made or retained `handle` on `device`: attach to that GPU's agent. A best-effort process attaches to the
// first GPU it has a context on, and to the one it works on. The error to return, else CUDA_SUCCESS.
[[nodiscard]] cu::CUresult context_made(cu::CUcontext handle, cu::CUdevice device) noexcept;

// A best-effort process works on this one: attached before, or now.
[[nodiscard]] cu::CUresult attach_own_gpu(Gpu& gpu) noexcept;

void forget_attachments() noexcept;  // in a forked child

}  // namespace cotenant
