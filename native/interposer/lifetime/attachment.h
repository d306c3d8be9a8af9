// How a process attaches to its GPUs: it asks the agent for a slot when it gets its first context on a GPU.
#pragma once

#include "interposer/agent/link.h"
#include "interposer/state/gpu.h"

namespace cotenant {

// The current context; attaches to its GPU if the context was made before the interposer saw it. Null: there is none.
[[nodiscard]] Context* current_context() noexcept;

// The driver has made or retained `handle` on `device`: attaches to that GPU's agent. A best-effort process attaches to
// the first GPU that it has a context on, and to the one it works on. Returns CUDA_SUCCESS, or the error for the
// application.
[[nodiscard]] cu::CUresult context_made(cu::CUcontext handle, cu::CUdevice device) noexcept;

// A best-effort process begins to work on this GPU: attaches to it unless that is done.
[[nodiscard]] cu::CUresult attach_own_gpu(Gpu& gpu) noexcept;

// Says why the agent gives this process no slot, once until the reason changes.
void tell_without_slot(const Attachment& answer) noexcept;

void forget_attachments() noexcept;  // in a forked child

}  // namespace cotenant
