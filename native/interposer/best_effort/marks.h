// Marks: how far the GPU has come in each stream. It writes a number into the client's own page; where it can't (pages
// that the driver does not register, more streams than a page has words) an event stands for the number.
#pragma once

#include <cstdint>

#include "interposer/state/best_effort_state.h"

namespace cotenant {

struct Gpu;
struct Link;
struct Stream;

// Takes down what has been submitted to this stream by now under the next number, which it returns.
[[nodiscard]] std::uint32_t next_mark(Stream& stream) noexcept;

// Puts a mark behind what `stream` has now. From the application's thread, not while the stream is captured.
bool put_mark(Stream& stream, const Link& link) noexcept;
// The same, always by an event.
bool put_event_mark(Stream& stream, std::uint32_t number) noexcept;

// A mark behind what every stream of the current context has now: before waiting for work to finish, so that its end is seen.
void mark_open_lanes(const Gpu& gpu, const Link& link) noexcept;

// Takes over what the GPU has written for this stream. Any thread.
void read_mark(Stream& stream, const Link& link) noexcept;
// Asks the driver for events of streams of the current context. From the application's threads.
void read_event_marks(const Gpu& gpu) noexcept;

// What the driver is about to end takes its events along.
void event_marks_end(EventMarks& events) noexcept;

}  // namespace cotenant
