#include "interposer/kernels/launch_shape.h"

#include "interposer/base/hash.h"
#include "interposer/kernels/function.h"

namespace cotenant {

std::uint64_t LaunchShape::key() const noexcept {
  auto key = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(function));
  for (const unsigned part : of) key = folded(key, part);
  return key ? key : 1;
}

LaunchShape named_shape(const LaunchShape& shape) noexcept {
  LaunchShape named = shape;
  std::uint64_t hash = kFnvBasis;
  const char* name = named_function(shape.function).name;
  for (const char* at = name; at && *at; ++at) hash = fnv1a(hash, static_cast<unsigned char>(*at));
  named.function = name ? reinterpret_cast<cu::CUfunction>(hash | 1) : nullptr;  // handles are even
  return named;
}

}  // namespace cotenant
