// A Hello to the agent and the Welcome that answers it, in steps that never block. An agent may accept a connection and
// not answer, while the helper thread must go on releasing holds. A caller with nothing else to do may block in
// `hear_within`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "generated/protocol.h"

namespace cotenant {

struct Knock {
  int socket{-1};  // -1: no Hello was sent
  protocol::HelloKind kind{};
  std::uint64_t until{0};  // deadline, in monotonic ns
  protocol::Welcome welcome{};
  std::size_t have{0};  // bytes of the Welcome received so far
};

enum class Heard { kNothingYet, kWelcome, kFailed };

// Whether to wait, for at most half a second, when the agent's queue of connections is full.
enum class Door { kNow, kWait };

inline constexpr int kKnockMs = 500;

// Connects and sends the Hello. False: no agent listens.
[[nodiscard]] bool knock(Knock& own, const protocol::Hello& hello, Door door, int patience_ms = kKnockMs) noexcept;

// Reads what has arrived. kFailed: the agent hung up, the deadline passed, or the answer is no Welcome of this version
// (`welcome` holds the bytes); the socket is then closed. With kWelcome the socket belongs to the caller.
[[nodiscard]] Heard hear(Knock& own) noexcept;
[[nodiscard]] Heard hear_within(Knock& own) noexcept;

// Closes the connection, if there is one.
void forget(Knock& own) noexcept;

// Moves a descriptor above the numbers that programs use, because some programs close all low descriptors.
[[nodiscard]] int out_of_the_way(int fd) noexcept;

}  // namespace cotenant
