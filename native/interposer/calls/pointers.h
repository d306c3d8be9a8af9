// Questions about pointers, and words in memory that a stream writes or waits for. For movable memory the answers are those
// of memory from cuMemAlloc, and the calls wait while it is moved.
#pragma once

#include "interposer/calls/behaviour.h"
#include "interposer/movable/movable.h"
#include "interposer/movable/own_memory.h"

namespace cotenant {

namespace pointers {

template <class T>
void put(void* into, T value) noexcept {
  *static_cast<T*>(into) = value;
}

// The driver has answered for the mapping. What differs from memory of cuMemAlloc is replaced.
inline void correct(void* answer, cu::CUpointer_attribute attribute, const MovableAllocation& own) noexcept {
  switch (attribute) {
    case cu::CU_POINTER_ATTRIBUTE_CONTEXT: return put(answer, own.context);
    case cu::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return put(answer, own.at);
    case cu::CU_POINTER_ATTRIBUTE_RANGE_SIZE: return put<std::size_t>(answer, own.bytes);
    // The driver's own numbers are small.
    case cu::CU_POINTER_ATTRIBUTE_BUFFER_ID: return put<unsigned long long>(answer, own.id | 1ull << 48);
    default: return;
  }
}

// Memory that was made again has the number that it had at first.
inline void correct_id(void* answer, cu::CUpointer_attribute attribute, cu::CUdeviceptr pointer) noexcept {
  if (const unsigned long long first = own_id(pointer, attribute)) put(answer, first);
}

}  // namespace pointers

template <>
struct Behaviour<Entry::cuPointerGetAttribute> {
  static cu::CUresult call(void* data, cu::CUpointer_attribute attribute, cu::CUdeviceptr pointer) noexcept {
    const TouchesMemory touches;
    const cu::CUresult result = driver_call<Entry::cuPointerGetAttribute>(data, attribute, pointer);
    MovableAllocation own{};
    if (!is_movable() || !data) return result;
    if (!movable_find(pointer, own)) {
      if (result == cu::CUDA_SUCCESS) pointers::correct_id(data, attribute, pointer);
      return result;
    }
    // The driver knows no context of a mapping.
    if (result != cu::CUDA_SUCCESS && attribute != cu::CU_POINTER_ATTRIBUTE_CONTEXT) return result;
    pointers::correct(data, attribute, own);
    return cu::CUDA_SUCCESS;
  }
};

template <>
struct Behaviour<Entry::cuPointerGetAttributes> {
  static cu::CUresult call(unsigned count, cu::CUpointer_attribute* attributes, void** data,
                           cu::CUdeviceptr pointer) noexcept {
    const TouchesMemory touches;
    const cu::CUresult result = driver_call<Entry::cuPointerGetAttributes>(count, attributes, data, pointer);
    MovableAllocation own{};
    if (result != cu::CUDA_SUCCESS || !is_movable()) return result;
    const bool found = movable_find(pointer, own);
    for (unsigned i = 0; i < count; ++i)
      if (found) pointers::correct(data[i], attributes[i], own);
      else pointers::correct_id(data[i], attributes[i], pointer);
    return result;
  }
};

template <>
struct Behaviour<Entry::cuMemGetAddressRange_v2> {
  static cu::CUresult call(cu::CUdeviceptr* base, std::size_t* size, cu::CUdeviceptr pointer) noexcept {
    const TouchesMemory touches;
    MovableAllocation own{};
    if (!is_movable() || !movable_find(pointer, own))
      return driver_call<Entry::cuMemGetAddressRange_v2>(base, size, pointer);
    if (base) *base = own.at;
    if (size) *size = own.bytes;
    return cu::CUDA_SUCCESS;
  }
};

// Whether the pointer is of movable memory, which others than this process cannot have. Then the user is told so.
inline bool is_kept_from_others(std::string_view call, cu::CUdeviceptr pointer) noexcept {
  MovableAllocation own{};
  if (!is_movable() || !movable_find(pointer, own)) return false;
  tell(
      "%s is refused: movable memory cannot be shared with another process or device. Start the program without "
      "--movable or --park-after.",
      call.data());
  return true;
}

template <>
struct Behaviour<Entry::cuIpcGetMemHandle> {
  static cu::CUresult call(cu::CUipcMemHandle* handle, cu::CUdeviceptr pointer) noexcept {
    if (is_kept_from_others("cuIpcGetMemHandle", pointer)) return cu::CUDA_ERROR_NOT_SUPPORTED;
    const cu::CUresult result = driver_call<Entry::cuIpcGetMemHandle>(handle, pointer);
    if (result == cu::CUDA_SUCCESS) note_given_to_others();
    return result;
  }
};

template <Entry E>
struct Word {
  template <class... A>
  static cu::CUresult call(A... arguments) noexcept {
    const TouchesMemory touches;
    return driver_call<E>(arguments...);
  }
};

BEHAVES(cuStreamWriteValue32, Word)
BEHAVES(cuStreamWriteValue32_ptsz, Word)
BEHAVES(cuStreamWriteValue32_v2, Word)
BEHAVES(cuStreamWriteValue32_v2_ptsz, Word)
BEHAVES(cuStreamWriteValue64, Word)
BEHAVES(cuStreamWriteValue64_ptsz, Word)
BEHAVES(cuStreamWriteValue64_v2, Word)
BEHAVES(cuStreamWriteValue64_v2_ptsz, Word)
BEHAVES(cuStreamWaitValue32, Word)
BEHAVES(cuStreamWaitValue32_ptsz, Word)
BEHAVES(cuStreamWaitValue32_v2, Word)
BEHAVES(cuStreamWaitValue32_v2_ptsz, Word)
BEHAVES(cuStreamWaitValue64, Word)
BEHAVES(cuStreamWaitValue64_ptsz, Word)
BEHAVES(cuStreamWaitValue64_v2, Word)
BEHAVES(cuStreamWaitValue64_v2_ptsz, Word)
BEHAVES(cuStreamBatchMemOp, Word)
BEHAVES(cuStreamBatchMemOp_ptsz, Word)
BEHAVES(cuStreamBatchMemOp_v2, Word)
BEHAVES(cuStreamBatchMemOp_v2_ptsz, Word)

}  // namespace cotenant
