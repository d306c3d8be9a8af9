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
// Whether the driver in use exports this name, and no list has it.
[[nodiscard]] bool is_unknown_to_us(const char* name) noexcept;
// Whether a pointer is into libcuda at all.
[[nodiscard]] bool of_driver(void* function) noexcept;

// The program has initialised the driver: from here on the process keeps to this copy of it.
void driver_initialised() noexcept;

// A process may have several copies of the driver: the system's and a newer one, or a loader of the actual one. What a
// lookup of `name` in any of them gives the program in place of `found`; null: `found` itself.
enum class FoundBy { kName, kDriver };  // by dlsym; by the driver's own answer
[[nodiscard]] void* in_place_of(const char* name, void* found, FoundBy by) noexcept;

// Whether the code at this address asks for the driver's own functions: a copy of the driver, or an interposer behind us
// to which our calls go.
[[nodiscard]] bool asks_behind_us(const void* code) noexcept;
// Whether names are looked up in the object with this code before they are in this library.
[[nodiscard]] bool is_in_front(const void* code) noexcept;

}  // namespace cotenant
