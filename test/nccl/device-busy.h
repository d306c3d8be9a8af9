// How long devices of the software GPU have been busy, as all processes see it.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include "rank.h"
#include "softgpu/device/device.h"

inline constexpr std::uint64_t kLongNs = 150'000'000;  // busy time reaches the shared file each 100 ms

inline std::uint64_t busy_ns(unsigned device) {
  static const auto* shared = [] {
    const int file = open((std::string(std::getenv("COTENANT_SOFTGPU_DIR")) + "/devices").c_str(), O_RDONLY);
    void* pages = mmap(nullptr, sizeof(cotenant::soft::Shared), PROT_READ, MAP_SHARED, file, 0);
    EXPECT(pages != MAP_FAILED, "the state of the devices can be mapped");
    return static_cast<const cotenant::soft::Shared*>(pages);
  }();
  return shared->device[device].busy_ns.load();
}

inline void wait_while_busy(unsigned device) {
  const std::uint64_t before = busy_ns(device);
  while (busy_ns(device) < before + kLongNs) rest(1000);
}
