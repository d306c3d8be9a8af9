// The common part of the wrappers of cuBLAS (exports/cublas.cpp) and of cublasLt (exports/cublaslt.cpp): the key of a
// product, addresses of its parts, and how a wrapper is exported and finds the library's own function.
#pragma once

#include <initializer_list>

#include "interposer/base/hash.h"
#include "interposer/process/process.h"
#include "interposer/products/library.h"
#include "interposer/products/pinned_product.h"
#include "interposer/products/product.h"

namespace cotenant {

inline constexpr std::int64_t kStep = 128;  // whole tiles, and data aligned as before

inline const void* advance(const void* at, std::int64_t bytes) noexcept { return static_cast<const char*>(at) + bytes; }
inline void* advance(void* at, std::int64_t bytes) noexcept { return static_cast<char*>(at) + bytes; }

inline std::uint64_t mix(std::initializer_list<std::int64_t> values) noexcept {
  std::uint64_t hash = 0;
  for (const std::int64_t value : values) hash = folded(hash, static_cast<std::uint64_t>(value));
  return hash | 1;
}

// How the data is aligned decides which kernels can take it.
inline std::int64_t alignment(const void* at) noexcept {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) & 255);
}

template <class Part>
inline Division way(const Product& product, const Part& part, const PinnedProduct* pinned) noexcept {
  const GivePart give_part = [](const void* self, std::int64_t first, std::int64_t count) {
    return (*static_cast<const Part*>(self))(first, count);
  };
  return {product, give_part, &part, pinned};
}

template <class Function>
inline Function library(Blas which, void* caller) noexcept {
  return reinterpret_cast<Function>(blas_function(which, caller));
}

}  // namespace cotenant

#define EXPORT extern "C" __attribute__((visibility("default"))) int
#define REAL(type)                                                      \
  const auto real = library<type>(kWhich, __builtin_return_address(0)); \
  if (!real) return kNotInitialized;
