#include "interposer/kernels/launch_shape.h"

#include "interposer/kernels/function.h"

namespace cotenant {

std::uint64_t LaunchShape::key() const noexcept {
  auto key = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(function));
  for (const unsigned part : of) key = (key ^ part) * 0x9e3779b97f4a7c15ull + (key >> 29);
  return key ? key : 1;
}

LaunchShape named_shape(const LaunchShape& shape) noexcept {
  LaunchShape named = shape;
  std::uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a
  const char* name = named_function(shape.function).name;
  for (const char* at = name; at && *at; ++at) hash = (hash ^ static_cast<unsigned char>(*at)) * 0x100000001b3ull;
  named.function = name ? reinterpret_cast<cu::CUfunction>(hash | 1) : nullptr;  // handles are even
  return named;
}

}  // namespace cotenant
