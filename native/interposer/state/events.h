// The meaning of an event: a stream, and how much of it had been submitted when the event was recorded.
#pragma once

#include <cstdint>

#include "driver/abi.h"

namespace cotenant {

struct Stream;

struct EventMark {
  Stream* stream;  // null: unknown, or recorded into a graph or by one
  std::uint64_t upto;
};

void event_recorded(cu::CUevent event, EventMark mark) noexcept;
[[nodiscard]] EventMark event_mark(cu::CUevent event) noexcept;
void event_destroyed(cu::CUevent event) noexcept;
// A graph records it. Nobody sees when, so from now on it stands for nothing.
void event_in_graph(cu::CUevent event) noexcept;

}  // namespace cotenant
