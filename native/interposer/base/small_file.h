// Small files of /proc and /sys, read without an allocation.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace cotenant {

// The beginning of a file as text; empty if it cannot be read.
template <std::size_t N>
void read_text(const char* path, char (&into)[N]) noexcept {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : read(fd, into, N - 1);
  into[n > 0 ? n : 0] = '\0';
  if (fd >= 0) close(fd);
}

// The number after a name in a text; 0 if the name is not there.
inline std::uint64_t number_after(const char* text, const char* name) noexcept {
  const char* at = std::strstr(text, name);
  return at ? std::strtoull(at + std::strlen(name), nullptr, 10) : 0;
}

}  // namespace cotenant
