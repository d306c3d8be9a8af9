// Copies the content of movable memory to the pool and back.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/agent/link.h"

namespace cotenant {

// Memory moves between requests: copies share the bus with those of a service, and to unmap memory stops what the GPU does.
// For half a second in all, because a client may always be active.
class Pauses {
 public:
  explicit Pauses(const Link& link) noexcept;
  void let_requests_pass() noexcept;

 private:
  const std::atomic<std::uint64_t>* requests_;  // a bit for each that is active; null: not known
  std::uint64_t paused_ns_{0};
};

// In the current context, while the client is closed. False: the driver refused a copy.
[[nodiscard]] bool copy_blocks_out(const Link& link, Pauses& pauses) noexcept;
// The blocks that were taken away, whose memory has been made again.
[[nodiscard]] bool copy_blocks_in(const Link& link) noexcept;

}  // namespace cotenant
