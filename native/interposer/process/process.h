// The role of this process, decided once, and what a fork resets.
#pragma once

#include <atomic>

#include "interposer/process/environment.h"

namespace cotenant {

// Roles that are no client come first, so the wrappers recognise them with one comparison.
enum class Role : int { kUndecided, kNone, kRecord, kHigh, kBestEffort };

extern std::atomic<Role> decided_role;
[[nodiscard]] Role decide_role() noexcept;

// Whether the memory of this client can be parked.
extern std::atomic<bool> memory_moves;
[[nodiscard]] inline bool is_movable() noexcept { return memory_moves.load(std::memory_order_relaxed); }

// The role of this process. It is decided when the process first uses a name of the driver. Before it has a context,
// the process gets no file, thread or connection from the interposer.
[[nodiscard]] inline Role role() noexcept {
  const Role known = decided_role.load(std::memory_order_relaxed);
  return known == Role::kUndecided ? decide_role() : known;
}

[[nodiscard]] const Environment& environment() noexcept;

// Which work of this process is not protected, or not held: for `cotenant status`.
void note_caveat(protocol::Caveat caveat) noexcept;
[[nodiscard]] std::uint32_t caveats() noexcept;

// Reports once that the process uses the driver but the interposer does nothing because of a tool.
void say_aside() noexcept;

// Writes one line to stderr, never to stdout. For what a user must know: refusals, a missing agent.
void tell(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));

}  // namespace cotenant
