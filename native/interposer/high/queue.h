// How full the driver's queue of a stream may have been. Where it is full, a launch waits for the GPU, and nobody sees that
// it waits. So a burst in which a queue may have been full (protocol::CROWDED_QUEUE) counts as waited throughout.
//
// A program that launches thousands of times between two looks at what is done may have filled its queue in every burst, and
// may as well have an idle GPU, because its CPU is the limit. Sequence words tell which. After a few such bursts the GPU
// writes one behind every kEvery submissions of each stream, and the launching thread reads how far the GPU is when it puts
// the next one there. What was not done then, and all that was submitted since, is the most that the queue can have held
// meanwhile. So a queue of more than CROWDED_QUEUE is never missed, and one of three quarters of that is not taken for such
// a one. The helper thread does not read them: on a busy CPU it comes late, and a program that its CPU limits would seem to
// have launched far ahead.
//
// These words tell nothing else. They end no burst, and no launch is seen to end by them, because the work of a program that
// launches more later is one request.
#pragma once

#include "interposer/state/gpu.h"

namespace cotenant {

// Under HighGpu::lock, before more of `stream` is known to be done.
[[gnu::cold]] void note_full_queue(HighGpu& own, const HighStream& stream) noexcept;
inline void note_queue(HighGpu& own, const HighStream& stream) noexcept {
  if (stream.begun.load(std::memory_order_relaxed) - stream.done > protocol::CROWDED_QUEUE)
    note_full_queue(own, stream);
}

// Puts a word behind the work just submitted, if one is due. Called on the application's thread, and not while it captures.
[[gnu::cold]] void put_queue_word(Stream& stream) noexcept;
inline void high_write_queue_word(Stream& stream) noexcept {
  const HighStream& own = stream.high;
  if (stream.context->gpu->high.queue_words.load(std::memory_order_relaxed) &&
      own.settled.load(std::memory_order_relaxed) >= own.queue.due.load(std::memory_order_relaxed))
    put_queue_word(stream);
}

}  // namespace cotenant
