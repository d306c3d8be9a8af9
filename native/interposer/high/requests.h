// The requests that the program tells of (include/cotenant.h): how long each takes, counted in the histograms of the client's
// slot. Any number of threads, no lock, no I/O. At most kRequestPlaces requests are followed at once. When a place is needed
// and none is free, the request that has it is forgotten, so requests that are begun and never ended cost nothing for long.
#pragma once

#include <cstdint>

namespace cotenant {

struct Gpu;

inline constexpr std::uint32_t kRequestPlaces = 4096;

// A handle; never 0.
[[nodiscard]] std::uint64_t request_begins(std::uint64_t now) noexcept;
// The next three do nothing for a handle that is not known (any more).
void request_progresses(std::uint64_t handle, std::uint32_t units, std::uint64_t now) noexcept;
void request_ends(std::uint64_t handle, std::uint64_t now) noexcept;
void request_fails(std::uint64_t handle) noexcept;

// Called by the helper thread at each look.
void publish_open_requests(Gpu& gpu) noexcept;

}  // namespace cotenant
