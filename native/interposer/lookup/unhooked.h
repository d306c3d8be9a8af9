// Entry points that we do not replace though they may submit work: those that passed.def counts, and those of releases
// that we do not know. The application gets a jump to the driver's function that counts; its signature need not be known.
#pragma once

#include <cstdint>

namespace cotenant {

// What to hand out for the driver's `function`, found by `name`: itself where passed.def says that it is harmless.
[[nodiscard]] void* counting_jump(const char* name, void* function) noexcept;

// So far, for `cotenant status`.
[[nodiscard]] std::uint32_t unhooked_calls() noexcept;

// The helper thread's: each that has been called is named once on stderr.
void name_unhooked() noexcept;

}  // namespace cotenant
