// Finds NCCL's own functions. A process of a gang has one NCCL.
#pragma once

namespace cotenant::gangs {

enum class Nccl : unsigned {
#define FUNCTION(name) name,
#define REFUSED(name) name,
#include "nccl/functions.def"
#undef FUNCTION
#undef REFUSED
  kCount
};

[[nodiscard]] const char* name_of(Nccl which) noexcept;

// The library's own function, as the object that `caller` points into would find it. Null: there is none.
[[nodiscard]] void* nccl_function(Nccl which, const void* caller) noexcept;
// A function of NCCL that is not wrapped. Null: no function of it has been called yet.
[[nodiscard]] void* other_nccl_function(const char* name) noexcept;

// The wrapper for a program that looks for `name`, in place of `found`; null: `found` itself.
[[nodiscard]] void* nccl_wrapper(const char* name, void* found) noexcept;

// The wrappers, by Nccl (exports/nccl.cpp).
extern void* const wrappers[static_cast<unsigned>(Nccl::kCount)];

}  // namespace cotenant::gangs
