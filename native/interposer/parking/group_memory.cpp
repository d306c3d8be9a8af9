#include "interposer/parking/group_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interposer/base/small_file.h"

namespace cotenant {
namespace {

// The names of a version: where its groups are, the controller in /proc/self/cgroup, a group's files, and the lines of
// memory.stat that say how much of the page cache is of files, in the group and in those below it.
struct Version {
  const char* root;
  const char* controller;
  const char* limit;
  const char* used;
  const char* cache[2];
};

constexpr Version kVersions[] = {
    {"/sys/fs/cgroup", "", "memory.max", "memory.current", {"\nactive_file ", "\ninactive_file "}},
    {"/sys/fs/cgroup/memory",
     "memory",
     "memory.limit_in_bytes",
     "memory.usage_in_bytes",
     {"\ntotal_active_file ", "\ntotal_inactive_file "}},
};

constexpr MemoryRoom kNoLimit{~0ull, false};

template <std::size_t N>
void read_file(const Version& version, const char* group, const char* name, char (&into)[N]) noexcept {
  char path[1024];
  std::snprintf(path, sizeof path, "%s%s/%s", version.root, group, name);
  read_text(path, into);
}

MemoryRoom room_in(const Version& version, const char* group) noexcept {
  char limit[32];
  char used[32];
  char stat[4096];
  read_file(version, group, version.limit, limit);
  if (limit[0] < '0' || limit[0] > '9') return kNoLimit;  // "max", or there is no such group
  read_file(version, group, version.used, used);
  read_file(version, group, "memory.stat", stat);
  const std::uint64_t most = std::strtoull(limit, nullptr, 10);
  const std::uint64_t all = std::strtoull(used, nullptr, 10);
  const std::uint64_t cache = number_after(stat, version.cache[0]) + number_after(stat, version.cache[1]);
  return room_of(most, most - std::min(most, all - std::min(all, cache)));
}

// Whether a list such as "cpu,memory" has it. The list of version 2 is empty.
bool has_controller(const char* list, const char* end, const char* name) noexcept {
  const std::size_t length = std::strlen(name);
  while (true) {
    const char* next = std::find(list, end, ',');
    if (static_cast<std::size_t>(next - list) == length && std::strncmp(list, name, length) == 0) return true;
    if (next == end) return false;
    list = next + 1;
  }
}

// The path of this process's group in the text of /proc/self/cgroup, whose lines are ID:CONTROLLERS:PATH. Cuts the text behind it.
char* own_group(char* text, const Version& version) noexcept {
  for (char* line = text; line && *line;) {
    char* next = std::strchr(line, '\n');
    char* list = std::strchr(line, ':');
    char* path = list ? std::strchr(list + 1, ':') : nullptr;
    if (path && (!next || path < next) && has_controller(list + 1, path, version.controller)) {
      if (next) *next = '\0';
      return path + 1;
    }
    line = next ? next + 1 : nullptr;
  }
  return nullptr;
}

MemoryRoom room_in_all(const Version& version) noexcept {
  char text[4096];
  read_text("/proc/self/cgroup", text);
  // In most containers its group is the root of what the process sees, whatever path that file says.
  MemoryRoom room = room_in(version, "");
  char* path = own_group(text, version);
  if (!path) return room;
  for (char* slash = std::strrchr(path, '/'); slash; slash = std::strrchr(path, '/')) {
    room = least(room, room_in(version, path));
    *slash = '\0';
  }
  return room;
}

}  // namespace

MemoryRoom group_memory() noexcept {
  MemoryRoom room = kNoLimit;
  for (const Version& version : kVersions) room = least(room, room_in_all(version));
  return room;
}

}  // namespace cotenant
