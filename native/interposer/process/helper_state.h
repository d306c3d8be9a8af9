// Whether the helper thread runs (lifetime/helper.h), and how it is woken.
#pragma once

#include <cstdint>

namespace cotenant {

// Without it nothing may be queued behind a hold word: somebody must be there to open it.
[[nodiscard]] bool helper_runs() noexcept;
// Returns whether it ran before.
bool set_helper_runs(bool runs) noexcept;

// Ends its nap: there is something to be done sooner than it knew.
void wake_helper() noexcept;

// The helper thread's: a number that every call changes; and a nap that ends with the first call since that was read.
[[nodiscard]] std::uint32_t helper_wakes() noexcept;
void nap_unless_woken(std::uint32_t heard, std::uint32_t us) noexcept;

}  // namespace cotenant
