// Entry points that may submit work and have no wrapper: those that passed.def counts, and those of releases that the
// interposer does not know. The application gets a jump that counts its calls and continues in the driver's function,
// so the signature need not be known.
#pragma once

#include <cstdint>

extern "C" {
// Stream captures that may be open: one for each that is known, and one for each call of a function that is not known, which
// may have begun one. So it stays above 0 from the first such call on, and the driver is asked about each stream.
__attribute__((visibility("hidden"))) extern std::uint64_t cotenant_possible_captures;
}

namespace cotenant {

// Returns the pointer that the application gets for the driver's `function`, which was found by `name`: a counting
// jump, or `function` itself if passed.def lists it as harmless.
[[nodiscard]] void* counting_jump(const char* name, void* function) noexcept;

// The program is linked with a function of this name, so its calls are not seen. It may have begun a capture at any time. Says so.
void note_linked_function(const char* name) noexcept;
// The number of such calls so far, for `cotenant status`.
[[nodiscard]] std::uint32_t unhooked_calls() noexcept;

// For the helper thread: names each such function that was called, once, on stderr.
void name_unhooked() noexcept;

}  // namespace cotenant
