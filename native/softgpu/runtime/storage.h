#pragma once
// Values that the runtime keeps for each context, by keys of its own.
#include "driver/abi.h"

namespace cotenant::soft::runtime {

using Forget = void (*)(cu::CUcontext context, void* key, void* value);

// A null context is the current one.
cu::CUresult keep(cu::CUcontext context, void* key, void* value, Forget forget);
cu::CUresult forget(cu::CUcontext context, void* key);
cu::CUresult recall(void** value, cu::CUcontext context, void* key);

// The context is gone: calls what was given to keep(). No lock is held.
void forget_all(cu::CUcontext context);

}  // namespace cotenant::soft::runtime
