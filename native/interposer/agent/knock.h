// A Hello on its way and the Welcome that follows, in steps that never wait: an agent may accept and not answer, and the
// helper thread has holds to open meanwhile. Who has nothing else to do may wait (`hear_within`).
#pragma once

#include <cstddef>
#include <cstdint>

#include "generated/protocol.h"

namespace cotenant {

struct Knock {
  int socket{-1};  // -1: none is on its way
  protocol::HelloKind kind{};
  std::uint64_t until{0};  // monotonic ns: given up then
  protocol::Welcome welcome{};
  std::size_t have{0};  // bytes of it
};

enum class Heard { kNothingYet, kWelcome, kFailed };

// Whether the agent's door may be waited for, half a second at most, when too many stand before it.
enum class Door { kNow, kWait };

inline constexpr int kKnockMs = 500;

// Connects and says hello. False: nobody is there.
[[nodiscard]] bool knock(Knock& own, const protocol::Hello& hello, Door door, int patience_ms = kKnockMs) noexcept;

// Takes what has come. kFailed: hung up, too late, or no Welcome of this version (`welcome` has what came); the socket is
// closed then. With kWelcome it belongs to the caller.
[[nodiscard]] Heard hear(Knock& own) noexcept;
[[nodiscard]] Heard hear_within(Knock& own) noexcept;

// Hangs up, if there is one to hang up on.
void forget(Knock& own) noexcept;

// Descriptors of ours stay out of the numbers that programs hand out and close by habit.
[[nodiscard]] int out_of_the_way(int fd) noexcept;

}  // namespace cotenant
