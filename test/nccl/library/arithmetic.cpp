#include "arithmetic.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace nccl {
namespace {

float from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
std::uint32_t to_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

struct Brain {
  std::uint16_t bits;
  explicit operator float() const { return from_bits(std::uint32_t(bits) << 16); }
  // Rounds to the nearest, and to even between two.
  static Brain of(float value) {
    const std::uint32_t all = to_bits(value);
    return {std::uint16_t((all + 0x7fff + (all >> 16 & 1)) >> 16)};
  }
};

struct Half {
  std::uint16_t bits;
  explicit operator float() const {
    const std::uint32_t sign = std::uint32_t(bits & 0x8000) << 16;
    const std::uint32_t exponent = bits >> 10 & 31;
    const std::uint32_t fraction = bits & 0x3ff;
    if (exponent == 31) return from_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent != 0) return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    const float small = float(fraction) / 16777216.0f;  // 2^-24
    return sign != 0 ? -small : small;
  }
  static Half of(float value) {
    const std::uint32_t all = to_bits(value);
    const auto sign = std::uint16_t(all >> 16 & 0x8000);
    const float size = from_bits(all & 0x7fffffff);
    if (!(size < 65520.0f)) return {std::uint16_t(sign | (size == size ? 0x7c00 : 0x7e00))};
    // Added to a number whose last bit has the weight of half precision's, the value is rounded to it.
    const std::uint32_t exponent = std::max(to_bits(size) >> 23, std::uint32_t{113});
    const float ruler = from_bits((exponent + 13) << 23);
    const std::uint32_t units = to_bits(size + ruler) - to_bits(ruler);
    return {std::uint16_t(sign | (((exponent - 113) << 10) + units))};
  }
};

template <class T>
T combine(ncclRedOp_t op, T a, T b) {
  switch (op) {
    case ncclProd: return T(a * b);
    case ncclMax: return std::max(a, b);
    case ncclMin: return std::min(a, b);
    default: return T(a + b);
  }
}

// `Stored` as it lies in memory, `Number` as it is computed with.
template <class Stored, class Number, class Round>
void reduce_as(ncclRedOp_t op, const void* const* inputs, unsigned ranks, void* to, std::size_t count, Round round) {
  auto* results = static_cast<Stored*>(to);
  for (std::size_t i = 0; i < count; ++i) {
    auto result = Number(static_cast<const Stored*>(inputs[0])[i]);
    for (unsigned rank = 1; rank < ranks; ++rank)
      result = combine(op, result, Number(static_cast<const Stored*>(inputs[rank])[i]));
    if (op == ncclAvg) result = Number(result / Number(ranks));
    results[i] = round(result);
  }
}

template <class T>
void reduce_plain(ncclRedOp_t op, const void* const* inputs, unsigned ranks, void* to, std::size_t count) {
  reduce_as<T, T>(op, inputs, ranks, to, count, [](T value) { return value; });
}

}  // namespace

std::size_t bytes_of(ncclDataType_t type) {
  static const std::size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return unsigned(type) < ncclNumTypes ? sizes[type] : 0;
}

const char* name_of(ncclDataType_t type) {
  static const char* const names[] = {"u8",  "u8",  "u32", "u32",  "u64",    "u64",
                                      "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
  return names[type];
}

bool is_reducible(ncclDataType_t type) { return bytes_of(type) != 0 && type < ncclFloat8e4m3; }

void reduce(ncclDataType_t type, ncclRedOp_t op, const void* const* inputs, unsigned ranks, void* to,
            std::size_t count) {
  switch (type) {
    case ncclInt8: return reduce_plain<std::int8_t>(op, inputs, ranks, to, count);
    case ncclUint8: return reduce_plain<std::uint8_t>(op, inputs, ranks, to, count);
    case ncclInt32: return reduce_plain<std::int32_t>(op, inputs, ranks, to, count);
    case ncclUint32: return reduce_plain<std::uint32_t>(op, inputs, ranks, to, count);
    case ncclInt64: return reduce_plain<std::int64_t>(op, inputs, ranks, to, count);
    case ncclUint64: return reduce_plain<std::uint64_t>(op, inputs, ranks, to, count);
    case ncclFloat32: return reduce_plain<float>(op, inputs, ranks, to, count);
    case ncclFloat64: return reduce_plain<double>(op, inputs, ranks, to, count);
    case ncclFloat16: return reduce_as<Half, float>(op, inputs, ranks, to, count, Half::of);
    case ncclBfloat16: return reduce_as<Brain, float>(op, inputs, ranks, to, count, Brain::of);
    default: return;
  }
}

}  // namespace nccl
