#pragma once
// Turns the driver's many kinds of copies and fills into one copy from box to box, and puts it into a stream.
#include "softgpu/driver/driver.h"

namespace cotenant::soft {

enum class Waits { as_needed, never };  // a synchronous entry point, an asynchronous one

// Decides the direction, stages pageable sources, waits where the driver does: for copies to the host, for big
// pageable sources, and for pinned ones; never for copies within the device.
CUresult submit_copy(Call& call, CUstream stream, CopyWork copy, Waits waits);
CUresult submit_fill(Call& call, CUstream stream, const FillWork& fill);

CopyWork linear(std::uintptr_t to, std::uintptr_t from, std::size_t bytes);

// The boxes of a copy that a struct describes; false: it names unknown memory.
bool boxes(Driver& d, const CUDA_MEMCPY3D& form, CopyWork& out);
CUDA_MEMCPY3D widen(const CUDA_MEMCPY2D& form);
CUDA_MEMCPY3D widen(const CUDA_MEMCPY3D_PEER& form);
Direction direction_of(Driver& d, const CopyWork& copy);
// The struct that describes this copy, for queries of graph nodes.
CUDA_MEMCPY3D struct_of(const CopyWork& copy);

}  // namespace cotenant::soft
