// stat and fstat as system calls: glibc has them as functions only since 2.33.
#pragma once

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __x86_64__
#error "only x86-64's system calls fill the C library's struct stat"
#endif

namespace cotenant {

[[nodiscard]] inline bool file_status(int fd, struct stat* info) noexcept { return syscall(SYS_fstat, fd, info) == 0; }

[[nodiscard]] inline bool file_status(const char* path, struct stat* info) noexcept {
  return syscall(SYS_stat, path, info) == 0;
}

}  // namespace cotenant
