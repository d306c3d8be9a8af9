// Time on the monotonic clock, which all processes of a machine share. It does not follow steps of the wall clock.
#pragma once

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace cotenant {

[[nodiscard]] inline std::uint64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000ull + static_cast<std::uint64_t>(t.tv_nsec);
}

// By the system call, because libc's function ends a thread that was cancelled, with whatever the thread holds.
inline void nap_us(std::uint32_t us) noexcept {
  const timespec t{0, static_cast<long>(us) * 1000};
  syscall(SYS_nanosleep, &t, nullptr);
}

// Tells the CPU that this thread waits in a loop.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// One iteration of a wait that began at `started`. At first the thread keeps the CPU, later it sleeps.
inline void spin_then_nap(std::uint64_t started, std::uint64_t spin_ns) noexcept {
  constexpr std::uint32_t kNapUs = 50;
  if (now_ns() - started < spin_ns) relax();
  else nap_us(kNapUs);
}

}  // namespace cotenant
