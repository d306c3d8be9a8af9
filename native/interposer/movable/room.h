// An allocation that the driver has just refused waits until the agent has taken memory from best-effort clients: that of a
// high client for 10 s at most (the one exception from the rule that a high client never waits: the driver's answer was an
// error), that of a best-effort client with movable memory until its turn comes.
#pragma once

#include <cstdint>

#include "driver/abi.h"
#include "generated/protocol.h"

namespace cotenant {

struct Gpu;

// Exists while one allocation waits. Without an agent, or if there is nothing to take, it does not wait.
class WaitsForRoom {
 public:
  WaitsForRoom(const Gpu* gpu, std::uint64_t bytes) noexcept;
  ~WaitsForRoom();
  WaitsForRoom(const WaitsForRoom&) = delete;
  WaitsForRoom& operator=(const WaitsForRoom&) = delete;

  // Naps. True: the driver should be asked again. False: memory cannot be had in time.
  [[nodiscard]] bool again() noexcept;

 private:
  protocol::Movable* slot_{nullptr};  // null: it does not wait
  std::uint64_t wanted_{0};
  std::uint32_t answer_{0};  // the agent's last one
  std::uint64_t began_{0};
  std::uint64_t heard_{0};  // when the agent last said that memory comes
  bool last_{false};
};

}  // namespace cotenant
