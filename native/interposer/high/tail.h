// Completions that no driver call shows. An application may poll a pinned word that its own work writes, and makes no
// driver call when it sees the word. A client is assumed to do so if it submits much and never asks for completions, or
// if the last resort has ended some of its bursts. Then its work is followed by tail words, which are sequence words
// (words.h) that the helper thread reads: behind graph launches and copies to the host, and behind kinds of work after
// which it has stopped submitting a few times. Work that a client leaves behind (left.h) gets them, too.
#pragma once

#include <cstdint>

#include "interposer/state/gpu.h"
#include "interposer/state/submission.h"

namespace cotenant {

// One look of the helper thread at a client whose completions may stay unobserved: reads the sequence words, gives up
// after a long silence, ends announcements. Returns the time until the next poll in microseconds.
[[nodiscard]] std::uint32_t high_tick(Gpu& gpu, std::uint64_t now) noexcept;

// Puts a tail word behind work just submitted, if this client needs one there. Called on the application's thread,
// and not while it captures.
enum class Tail { kNo, kYes };  // kYes: it may be the last work of a request, whose end no driver call shows
[[gnu::cold]] void write_tail(Stream& stream, const Submission& submission, Tail tail) noexcept;
inline void high_write_tail(Stream& stream, const Submission& submission, Tail tail) noexcept {
  const HighGpu& own = stream.context->gpu->high;
  if (own.tails.load(std::memory_order_relaxed) &&
      (stream.high.left_behind.load(std::memory_order_relaxed) || own.polls.load(std::memory_order_relaxed)))
    write_tail(stream, submission, tail);
}

// Behind all work of a stream that the program is about to destroy.
void high_write_last_word(Stream& stream) noexcept;

}  // namespace cotenant
