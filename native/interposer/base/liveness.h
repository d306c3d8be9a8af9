// Identifies a process by pid and start time, because a pid may be reused.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace cotenant {

// Field 22 of /proc/PID/stat, clock ticks since boot; 0 when there is no such process.
[[nodiscard]] std::uint64_t start_time_of(pid_t pid) noexcept;

// The inode of the PID namespace that this process is in; 0: unknown.
[[nodiscard]] std::uint64_t pid_namespace() noexcept;

[[nodiscard]] inline bool alive(pid_t pid, std::uint64_t start_time) noexcept {
  return pid > 0 && start_time_of(pid) == start_time;
}

}  // namespace cotenant
