// The requests that the program reports (include/cotenant.h): how long each takes, counted in the histograms of the client's
// slot. Any number of threads, no lock, no I/O. At most kRequestPlaces requests are followed at once. When a place is needed
// and none is free, the request that has it is forgotten, so requests that are begun and never ended cost nothing for long.
#pragma once

#include <cstdint>

#include "generated/protocol.h"

namespace cotenant {

struct Gpu;

inline constexpr std::uint32_t kRequestPlaces = 4096;

// A handle; never 0.
[[nodiscard]] std::uint64_t request_begins(std::uint64_t now) noexcept;
// The next three do nothing for a handle that is not known (any more).
void request_progresses(std::uint64_t handle, std::uint32_t units, std::uint64_t now) noexcept;
void request_ends(std::uint64_t handle, std::uint64_t now) noexcept;
void request_fails(std::uint64_t handle) noexcept;

// Called by the helper thread at each poll.
void publish_open_requests(Gpu& gpu) noexcept;

// A process of a service that uses no GPU reports the requests on which others of the service work: an API server, or an
// engine's core where the GPUs belong to its workers. It has no slot, so the agent gives it a file with the counters of one. A
// thread keeps the connection, by which the agent learns that the process has ended (reporting.cpp).
//
// The counters of these reports; null while the agent has given it nothing, and in a process that uses a GPU, which has slots.
[[nodiscard]] protocol::HighSlot* report_slot() noexcept;

// A request begins in a high client's process. Starts the thread, once, unless the process uses a GPU.
void report_requests() noexcept;

// In a forked child: it is another process, and the thread is not there.
void forget_report() noexcept;

}  // namespace cotenant
