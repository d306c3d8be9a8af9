// Whether the helper thread runs (lifetime/helper.h), and how it is woken.
#pragma once

#include <cstdint>

namespace cotenant {

// While it does not run, nothing may be queued behind a pause flag, because nobody would clear the word.
[[nodiscard]] bool helper_runs() noexcept;
// Returns the previous value.
bool set_helper_runs(bool runs) noexcept;

// Ends the helper thread's nap because it has something to do earlier than it planned.
void wake_helper() noexcept;

// For the helper thread: the number of calls of wake_helper(), and a nap that ends with the first call since that
// number was read.
[[nodiscard]] std::uint32_t helper_wakes() noexcept;
void nap_unless_woken(std::uint32_t heard, std::uint32_t us) noexcept;

}  // namespace cotenant
