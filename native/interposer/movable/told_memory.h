// How much memory of a GPU a service is told to be free (cuMemGetInfo): what the driver says, and what would be taken from
// best-effort clients. An engine sizes itself by it, and compares what it is told before it loads its model with what it is told
// afterwards: it takes the difference for its own, and refuses to start where memory has come free meanwhile.
#pragma once

#include <cstdint>

namespace cotenant {

struct Gpu;

// `free`: what the driver has just said of the current context's GPU. While the service starts up, this waits until the figure
// of the driver and that of the agent are of the same moment, a second at most.
[[nodiscard]] std::uint64_t free_for_service(Gpu& gpu, std::uint64_t free) noexcept;

// A service has allocated so many bytes.
void note_service_memory(std::uint64_t bytes) noexcept;

}  // namespace cotenant
