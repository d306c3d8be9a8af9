#include "interposer/base/liveness.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interposer/base/small_file.h"
#include "libc/file_status.h"

namespace cotenant {

std::uint64_t start_time_of(pid_t pid) noexcept {
  char path[32];
  char text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  read_text(path, text);
  // The second field is the name in parentheses and may hold anything: count from its last ')'.
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at && field < 22; ++field) at = std::strchr(at + 1, ' ');
  return at ? std::strtoull(at + 1, nullptr, 10) : 0;
}

std::uint64_t pid_namespace() noexcept {
  struct stat info{};
  return file_status("/proc/self/ns/pid", &info) ? info.st_ino : 0;
}

}  // namespace cotenant
