// Finds cuBLAS's own functions. A process may have loaded two versions of the library. Each caller gets the version that it
// is linked with; a lookup by name returns the wrapper for the first library only.
#pragma once

namespace cotenant {

// The functions that are wrapped.
enum class Blas : unsigned {
#define BLAS(symbol) symbol,
#include "interposer/products/entries.def"
#undef BLAS
  kCount
};

// The library's own function, as the object that `caller` points into would find it. null: there is none.
[[nodiscard]] void* blas_function(Blas which, void* caller) noexcept;

// Another function of the library that `found` is in.
[[nodiscard]] void* blas_sibling(void* found, const char* name) noexcept;

// The wrapper for a program that looks for `name`, in place of `found`; null: `found` itself.
[[nodiscard]] void* blas_wrapper(const char* name, void* found) noexcept;

}  // namespace cotenant
