#include "interposer/calls/copies.h"

#include "generated/rules.h"

namespace cotenant::copy {

std::uint64_t piece_bytes() noexcept {
  const Link* link = role() == Role::kBestEffort ? own_link() : nullptr;
  if (!link) return 0;
  const auto& settings = link->region->settings;
  const bool gated = rule::protect(settings) && link->region->roster.registered.load(std::memory_order_relaxed) != 0;
  return gated ? rule::copy_piece_bytes(settings) : 0;
}

HostCopy::HostCopy(Stream& stream, bool legacy) noexcept : stream_(stream), since_(now_ns()) {
  if (legacy) others_.take(*stream.context, Which::kBlocking);
  // The work that had settled before, and this copy.
  upto_ = stream.high.settled.load(std::memory_order_acquire) + 1;
}

void HostCopy::complete() noexcept {
  high_observe(others_, since_);
  high_observe(stream_, upto_, since_);
}

}  // namespace cotenant::copy
