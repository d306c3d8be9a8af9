// What this process is to us: its role, decided once, and what a fork takes away.
#pragma once

#include <atomic>

#include "interposer/process/environment.h"

namespace cotenant {

// What is nobody's client comes first: the wrappers tell it apart with one comparison.
enum class Role : int { kUndecided, kNone, kRecord, kHigh, kBestEffort };

extern std::atomic<Role> decided_role;
[[nodiscard]] Role decide_role() noexcept;

// The role of this process. Decided at its first use of a driver name; no file, thread or connection
// exists before a context does.
[[nodiscard]] inline Role role() noexcept {
  const Role known = decided_role.load(std::memory_order_relaxed);
  return known == Role::kUndecided ? decide_role() : known;
}

[[nodiscard]] const Environment& environment() noexcept;

// What of this process is not protected, or not held back: for `cotenant status`.
void note_caveat(protocol::Caveat caveat) noexcept;
[[nodiscard]] std::uint32_t caveats() noexcept;

// Of a process that uses the driver though a tool made us step aside: said once.
void say_aside() noexcept;

// One line on stderr, never on stdout. For what a person must know: refusals, a missing agent.
void tell(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));

}  // namespace cotenant
