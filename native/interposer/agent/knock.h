// A Hello to the agent and the Welcome that answers it, in steps that never block. An agent may accept a connection and
// not answer, while the helper thread must go on releasing holds. A caller with nothing else to do may block in
// `hear_within`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "generated/protocol.h"
#include "interposer/base/descriptor.h"
#include "interposer/base/own_descriptor.h"

namespace cotenant {

// All zeros at first: it is part of the table of GPUs, which must stay in .bss, because it has megabytes.
struct Knock {
  bool under_way{false};
  bool busy{false};  // after a failure: an agent listens, and has not answered in time
  OwnDescriptor socket{};  // while it is under way
  OwnDescriptor came[kMaxDescriptors]{};  // with the Welcome
  std::size_t came_count{0};
  protocol::HelloKind kind{};
  std::uint64_t until{0};  // deadline, in monotonic ns
  protocol::Welcome welcome{};
  std::size_t have{0};  // bytes of the Welcome received so far
};

enum class Heard { kNothingYet, kWelcome, kFailed };

// Whether to wait, for at most half a second, when the agent's queue of connections is full.
enum class Door { kNow, kWait };

inline constexpr int kKnockMs = 500;
// For a caller that nothing waits for: a connection that is given up loses its place at a busy agent.
inline constexpr int kPatientMs = 10'000;

// Connects and sends the Hello, with the descriptors `passed`. False: no agent listens, or it is `busy`.
[[nodiscard]] bool knock(Knock& own, const protocol::Hello& hello, Door door, const Descriptors& passed = {},
                         int patience_ms = kKnockMs) noexcept;

// Reads what has arrived. kFailed: the agent hung up, the deadline passed, or the answer is no Welcome of this version
// (`welcome` holds the bytes); everything is then closed. With kWelcome the caller takes
// the socket and the descriptors (see below), or closes all by `forget`.
[[nodiscard]] Heard hear(Knock& own) noexcept;
[[nodiscard]] Heard hear_within(Knock& own) noexcept;

// Closes the connection, if there is one, and the descriptors that came.
void forget(Knock& own) noexcept;

// The descriptor at this place among those that came, which is the caller's from now on; none if fewer came.
[[nodiscard]] OwnDescriptor take_descriptor(Knock& own, std::size_t place) noexcept;
// The socket, of which the caller keeps the connection.
[[nodiscard]] OwnDescriptor take_socket(Knock& own) noexcept;

// Moves a descriptor above the numbers that programs use, because some programs close all low descriptors.
[[nodiscard]] int out_of_the_way(int fd) noexcept;

}  // namespace cotenant
