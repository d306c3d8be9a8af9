// stat, lstat and fstat as system calls: glibc has them as functions only since 2.33. On 64-bit x86 and ARM the kernel
// fills the C library's struct stat.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "it is not known whether this architecture's kernel fills the C library's struct stat"
#endif

namespace cotenant {

[[nodiscard]] inline bool file_status(int fd, struct stat* info) noexcept { return syscall(SYS_fstat, fd, info) == 0; }

// `flags`: AT_SYMLINK_NOFOLLOW, or 0.
[[nodiscard]] inline bool file_status(const char* path, struct stat* info, int flags = 0) noexcept {
  return syscall(SYS_newfstatat, AT_FDCWD, path, info, flags) == 0;
}

}  // namespace cotenant
