#include "interposer/parking/host_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cotenant {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// The beginning of a small file as text; empty if it cannot be read.
template <std::size_t N>
void read_text(const char* path, char (&into)[N]) noexcept {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : read(fd, into, N - 1);
  into[n > 0 ? n : 0] = '\0';
  if (fd >= 0) close(fd);
}

// Of /proc/meminfo, in bytes.
std::uint64_t field(const char* text, const char* name) noexcept {
  const char* at = std::strstr(text, name);
  return at ? std::strtoull(at + std::strlen(name), nullptr, 10) * 1024 : 0;
}

// What the control group at this path leaves; all ones: it sets no limit.
std::uint64_t left_in_group(const char* path) noexcept {
  char file[600];
  char limit[32];
  char used[32];
  std::snprintf(file, sizeof file, "/sys/fs/cgroup%s/memory.max", path);
  read_text(file, limit);
  std::snprintf(file, sizeof file, "/sys/fs/cgroup%s/memory.current", path);
  read_text(file, used);
  if (limit[0] < '0' || limit[0] > '9') return ~0ull;
  const std::uint64_t most = std::strtoull(limit, nullptr, 10);
  return most - std::min<std::uint64_t>(most, std::strtoull(used, nullptr, 10));
}

// Its own group and those above it.
std::uint64_t left_in_groups() noexcept {
  char text[600];
  read_text("/proc/self/cgroup", text);
  char* path = std::strstr(text, "0::/");
  std::uint64_t left = left_in_group("");
  if (!path) return left;
  path += 3;
  path[std::strcspn(path, "\n")] = '\0';
  for (char* end = path + std::strlen(path); end > path + 1; end = std::strrchr(path, '/')) {
    *end = '\0';
    left = std::min(left, left_in_group(path));
  }
  return left;
}

}  // namespace

std::uint64_t host_memory_left() noexcept {
  char text[1024];
  read_text("/proc/meminfo", text);
  const std::uint64_t reserve = std::min(kGiB, field(text, "MemTotal:") / 16);
  const std::uint64_t left = std::min(field(text, "MemAvailable:"), left_in_groups());
  return left - std::min(left, reserve);
}

bool host_memory_is_short() noexcept { return host_memory_left() < kGiB; }

}  // namespace cotenant
