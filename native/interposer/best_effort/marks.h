// Marks tell how far the GPU has come in each stream. The GPU writes a number into a page of the client, or, for streams beyond
// the words in it, into memory of the process. Where the driver registers neither, an event stands for the number.
#pragma once

#include <cstdint>

#include "interposer/state/gpu.h"

namespace cotenant {

// Where the GPU writes this stream's marks; 0: nowhere. Valid after map_pages().
[[nodiscard]] cu::CUdeviceptr own_mark_address(const Stream& stream) noexcept;
[[nodiscard]] inline cu::CUdeviceptr mark_address(const Stream& stream) noexcept {
  return stream.index < kMarkWords ? mark_word(*stream.context, stream.index) : own_mark_address(stream);
}

// Notes what has been submitted to this stream so far under the next number, which it returns.
[[nodiscard]] std::uint32_t next_mark(Stream& stream) noexcept;
// After the driver's call that writes the mark's word. The stream still needs a mark if the driver refused this one, or
// if another thread took a later number meanwhile: the GPU may write that one first, and this one over it.
void note_word_mark(Stream& stream, std::uint32_t number, bool put) noexcept;

// Puts a mark behind the work that `stream` has now. Called on the application's thread, and not while the stream is
// captured.
bool put_mark(Stream& stream, const Link& link) noexcept;
// The same, always by an event.
bool put_event_mark(Stream& stream, std::uint32_t number) noexcept;

// Whether a mark may come into this stream only together with a launch of the program. What is put into the legacy stream waits
// for all blocking streams of its context, and their later work waits for it. A program may have left those streams unordered,
// and may depend on that.
[[nodiscard]] bool takes_own_marks_only(const Stream& stream) noexcept;
// Puts a mark behind a launch of the program, within its call. The chunk goes on.
void put_mark_behind(Stream& stream, const Link& link) noexcept;

// Puts a mark behind the work of every stream of the current context that may be marked. Called before a wait for work to
// finish, because without a mark nobody sees that it has.
void mark_open_lanes(const Gpu& gpu, const Link& link) noexcept;

// Reads what the GPU has written for this stream. Called on any thread.
void read_mark(Stream& stream, const Link& link) noexcept;
// Asks the driver for the events of streams of the current context. Called on the application's threads.
void read_event_marks(const Gpu& gpu) noexcept;

// The stream's context is about to end, and its events with it.
void event_marks_end(EventMarks& events) noexcept;

}  // namespace cotenant
