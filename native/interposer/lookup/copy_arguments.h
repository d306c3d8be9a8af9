// Reads the arguments of the driver's copies: how many bytes, in which stream, and on which side the host is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "driver/abi.h"

namespace cotenant::copy {

// The number of bytes that is copied. Structs contain it. In other calls it is the product of the sizes (width x
// height) without the pitches, which come before them.
inline std::uint64_t bytes_in(const cu::CUDA_MEMCPY2D* p) noexcept {
  return p ? std::uint64_t{p->WidthInBytes} * p->Height : 0;
}
inline std::uint64_t bytes_in(const cu::CUDA_MEMCPY3D* p) noexcept {
  return p ? std::uint64_t{p->WidthInBytes} * p->Height * p->Depth : 0;
}
inline std::uint64_t bytes_in(const cu::CUDA_MEMCPY3D_PEER* p) noexcept {
  return p ? std::uint64_t{p->WidthInBytes} * p->Height * p->Depth : 0;
}

inline bool from_host(const cu::CUDA_MEMCPY2D* p) noexcept { return p && p->srcMemoryType == cu::CU_MEMORYTYPE_HOST; }
inline bool from_host(const cu::CUDA_MEMCPY3D* p) noexcept { return p && p->srcMemoryType == cu::CU_MEMORYTYPE_HOST; }
inline bool from_host(const cu::CUDA_MEMCPY3D_PEER* p) noexcept {
  return p && p->srcMemoryType == cu::CU_MEMORYTYPE_HOST;
}

inline bool to_host(const cu::CUDA_MEMCPY2D* p) noexcept { return p && p->dstMemoryType == cu::CU_MEMORYTYPE_HOST; }
inline bool to_host(const cu::CUDA_MEMCPY3D* p) noexcept { return p && p->dstMemoryType == cu::CU_MEMORYTYPE_HOST; }
inline bool to_host(const cu::CUDA_MEMCPY3D_PEER* p) noexcept {
  return p && p->dstMemoryType == cu::CU_MEMORYTYPE_HOST;
}

// The stream, which is always the last argument of an asynchronous copy.
template <class... A>
cu::CUstream stream_in(A... arguments) noexcept {
  cu::CUstream found = nullptr;
  [[maybe_unused]] const auto look = [&](auto argument) {
    if constexpr (std::is_same_v<decltype(argument), cu::CUstream>) found = argument;
  };
  (look(arguments), ...);
  return found;
}

// The last size among the arguments, and the one before it.
struct Sizes {
  std::uint64_t last;
  std::uint64_t before;
};
template <class... A>
Sizes sizes_in(A... arguments) noexcept {
  Sizes sizes{0, 0};
  [[maybe_unused]] const auto look = [&](auto argument) {
    if constexpr (std::is_same_v<decltype(argument), std::size_t>) sizes = {argument, sizes.last};
  };
  (look(arguments), ...);
  return sizes;
}

// A copy that is described by a struct passes one pointer as its first argument.
template <class First, class... A>
constexpr bool is_struct() noexcept {
  return std::is_same_v<First, const cu::CUDA_MEMCPY2D*> || std::is_same_v<First, const cu::CUDA_MEMCPY3D*> ||
         std::is_same_v<First, const cu::CUDA_MEMCPY3D_PEER*>;
}

// Whether `address` is the host's: cuMemcpy names no direction.
[[nodiscard]] bool is_host(cu::CUdeviceptr address) noexcept;

// Whether a copy to `address` is complete when the call returns, whatever the call's name. It is for memory of the host
// that is not registered with the driver (CUDA's driver API, "API synchronization behavior"; on an H100 with driver 580
// from 4 bytes on).
[[nodiscard]] bool is_pageable(cu::CUdeviceptr address) noexcept;

}  // namespace cotenant::copy
