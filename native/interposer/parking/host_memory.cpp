#include "interposer/parking/host_memory.h"

#include "interposer/base/small_file.h"
#include "interposer/parking/group_memory.h"

namespace cotenant {
namespace {

MemoryRoom machine_memory() noexcept {
  char text[1024];
  read_text("/proc/meminfo", text);
  const auto bytes = [&](const char* name) { return 1024 * number_after(text, name); };
  return room_of(bytes("MemTotal:"), bytes("MemAvailable:"));
}

MemoryRoom memory() noexcept { return least(machine_memory(), group_memory()); }

}  // namespace

std::uint64_t host_memory_left() noexcept { return memory().left; }

bool host_memory_is_short() noexcept { return memory().is_short; }

}  // namespace cotenant
