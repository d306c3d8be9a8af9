#include "interposer/lookup/copy_arguments.h"

#include "interposer/lookup/entry.h"

namespace cotenant::copy {

bool is_host(cu::CUdeviceptr address) noexcept {
  unsigned type = 0;
  if (!real().cuPointerGetAttribute) return false;
  // The driver returns an error for memory that it does not know, which is the host's.
  return real().cuPointerGetAttribute(&type, cu::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != cu::CUDA_SUCCESS ||
         type == cu::CU_MEMORYTYPE_HOST;
}

bool is_pageable(cu::CUdeviceptr address) noexcept {
  unsigned type = 0;
  return address != 0 && real().cuPointerGetAttribute &&
         real().cuPointerGetAttribute(&type, cu::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ==
             cu::CUDA_ERROR_INVALID_VALUE;
}

}  // namespace cotenant::copy
