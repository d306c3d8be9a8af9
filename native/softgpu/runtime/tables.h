#pragma once
// NVIDIA's CUDA runtime (libcudart) asks the driver for more than the functions of cuda.h: tables of functions, each
// found by a number of 16 bytes. NVIDIA documents none of them. Names and slots are those that public projects use; the
// slots that a runtime of CUDA 12 or 13 was seen to call are here, and any other says so on stderr.
#include "driver/abi.h"

namespace cotenant::soft::runtime {

// Null: there is no such table.
const void* find_table(const cu::CUuuid& id);

}  // namespace cotenant::soft::runtime
