// Finds the driver's functions in libcuda, and the wrapper for a pointer that the driver returns.
#pragma once

namespace cotenant {

// Fills the table of real() once. `hint` is any pointer into libcuda, or null if libcuda is loaded under its usual
// name. False: this process has no driver.
[[nodiscard]] bool load_driver(void* hint) noexcept;

// The wrapper for a pointer into libcuda, or null if that function is not replaced.
[[nodiscard]] void* wrapper_of(void* driver_function) noexcept;

// Whether a pointer into libcuda is a function that need not be replaced: entries.def's CALL, passed.def's PASSED.
[[nodiscard]] bool known_to_pass(void* driver_function) noexcept;
// Whether a pointer is into libcuda at all.
[[nodiscard]] bool of_driver(void* function) noexcept;

}  // namespace cotenant
