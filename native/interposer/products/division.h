// Decides how many lines each part of a long product has.
#pragma once

#include "interposer/products/known_product.h"

namespace cotenant {

// The lines of a part, or kWhole; 0: it cannot be decided now. `us` is how long the whole takes.
[[nodiscard]] std::int64_t divide(Side& side, const LibraryCall& plain, const PinnedProduct* pinned, std::uint32_t sms,
                                  std::uint64_t us, std::uint64_t target_us) noexcept;

}  // namespace cotenant
