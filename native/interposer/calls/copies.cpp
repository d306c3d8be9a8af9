#include "interposer/calls/copies.h"

#include "generated/rules.h"

namespace cotenant::copy {

std::uint64_t piece_bytes() noexcept {
  const Link* link = role() == Role::kBestEffort ? own_link() : nullptr;
  if (!link) return 0;
  const auto& settings = link->region->settings;
  const bool gated = rule::protect(settings) &&
                     link->region->activity.registered.load(std::memory_order_relaxed) != 0;
  return gated ? rule::copy_piece_bytes(settings) : 0;
}

bool high_copying(const protocol::Region& region, std::uint64_t now) noexcept {
  const std::uint32_t active = region.activity.active.load(std::memory_order_seq_cst);
  for (std::uint32_t i = 0; i < protocol::MAX_HIGH; ++i)
    if ((active & (1u << i)) != 0 && region.high[i].copyUntil.load(std::memory_order_relaxed) > now) return true;
  return false;
}

bool is_host(cu::CUdeviceptr address) noexcept {
  unsigned type = 0;
  if (!real().cuPointerGetAttribute) return false;
  // Memory the driver has never heard of is the host's, and makes this an error.
  return real().cuPointerGetAttribute(&type, cu::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != cu::CUDA_SUCCESS ||
         type == cu::CU_MEMORYTYPE_HOST;
}

bool is_pageable(cu::CUdeviceptr address) noexcept {
  unsigned type = 0;
  return address != 0 && real().cuPointerGetAttribute &&
         real().cuPointerGetAttribute(&type, cu::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == cu::CUDA_ERROR_INVALID_VALUE;
}

HostCopy::HostCopy(Stream& stream, bool legacy) noexcept : stream_(stream), since_(now_ns()) {
  others_.count = 0;
  if (legacy) high_snapshot(*stream.context, true, others_);
  // What had settled, and this copy itself.
  upto_ = stream.high.settled.load(std::memory_order_acquire) + 1;
}

void HostCopy::completed() noexcept {
  high_observe(others_, since_);
  high_observe(stream_, upto_, since_);
}

}  // namespace cotenant::copy
