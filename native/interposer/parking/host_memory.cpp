#include "interposer/parking/host_memory.h"

#include <algorithm>

#include "interposer/base/small_file.h"
#include "interposer/parking/group_memory.h"

namespace cotenant {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

}  // namespace

std::uint64_t host_memory_left() noexcept {
  char text[1024];
  read_text("/proc/meminfo", text);
  const auto bytes = [&](const char* name) { return 1024 * number_after(text, name); };
  const std::uint64_t reserve = std::min(kGiB, bytes("MemTotal:") / 16);
  const std::uint64_t left = std::min(bytes("MemAvailable:"), group_memory_left());
  return left - std::min(left, reserve);
}

bool host_memory_is_short() noexcept { return host_memory_left() < kGiB; }

}  // namespace cotenant
