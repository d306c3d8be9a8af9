// Free memory of a GPU as cuMemGetInfo reports it to a service: the driver's figure, and the memory that best-effort clients
// would give up. An engine sizes itself by it. It compares the figures before and after it loads its model, takes the
// difference for its own use, and refuses to start if memory has come free meanwhile.
#pragma once

#include <cstdint>

namespace cotenant {

struct Gpu;

// `free`: the driver's figure for the current context's GPU. While the service starts up, this waits until the figures of the
// driver and of the agent belong to the same moment, for a second at most.
[[nodiscard]] std::uint64_t free_for_service(Gpu& gpu, std::uint64_t free) noexcept;

// Adds an allocation of the service.
void note_service_memory(std::uint64_t bytes) noexcept;

}  // namespace cotenant
