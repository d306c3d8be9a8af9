#pragma once
// Functions of cuda.h that the software GPU has not: each is there, returns CUDA_ERROR_NOT_SUPPORTED, and names itself on
// stderr at the first call.
#include "driver/abi.h"
#include "softgpu/entry/say.h"

namespace cotenant::soft {

inline cu::CUresult lack(Once& once, const char* symbol) {
  say(once, "the software GPU has no %s: it returns CUDA_ERROR_NOT_SUPPORTED", symbol);
  return cu::CUDA_ERROR_NOT_SUPPORTED;
}

// By its name without version and form, as cuGetProcAddress is asked: the newest version. Null: cuda.h has no such name.
void* find_lacking(const char* name, bool per_thread);

}  // namespace cotenant::soft
