// Whether the helper thread runs (lifetime/keeper.h), and how it is woken.
#pragma once

#include <cstdint>

namespace cotenant {

// Without it nothing may be queued behind a hold word: somebody must be there to open it.
[[nodiscard]] bool keeper_runs() noexcept;
// Returns whether it ran before.
bool set_keeper_runs(bool runs) noexcept;

// Ends its nap: there is something to be done sooner than it knew.
void call_keeper() noexcept;

// The helper thread's: a number that every call changes; and a nap that ends with the first call since that was read.
[[nodiscard]] std::uint32_t keeper_calls() noexcept;
void nap_unless_called(std::uint32_t heard, std::uint32_t us) noexcept;

}  // namespace cotenant
