#pragma once
// HMAC (RFC 2104) with MD2 (RFC 1319 with its erratum). Both are for compatibility alone: MD2 protects nothing today.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cotenant::soft::runtime {

using Digest = std::array<unsigned char, 16>;

Digest md2(const std::vector<unsigned char>& message);
Digest hmac_md2(const Digest& key, const std::vector<unsigned char>& message);

}  // namespace cotenant::soft::runtime
