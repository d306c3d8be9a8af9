#include "interposer/high/queue.h"

#include <algorithm>

#include "interposer/high/words.h"

namespace cotenant {
namespace {

constexpr std::uint32_t kCrowdedBursts = 3;

// Up to where the stream's words show its work to be done; 0: they show nothing. A number that is none of the last ones is of
// an earlier stream.
std::uint64_t shown_done(const Stream& stream) noexcept {
  const QueueWords& words = stream.high.queue;
  const std::uint32_t number = read_word(stream, SequenceWord::kQueue);
  return words.number - number < QueueWords::kPlaces ? words.upto[number % QueueWords::kPlaces] : 0;
}

}  // namespace

void put_queue_word(Stream& stream) noexcept {
  const bool work = words_work(*stream.context);
  std::uint32_t number = 0;
  {
    HighGpu& own = stream.context->gpu->high;
    Locked lock(own.lock);
    QueueWords& words = stream.high.queue;
    const std::uint64_t settled = stream.high.settled.load(std::memory_order_acquire);
    if (settled < words.due.load(std::memory_order_relaxed)) return;  // another thread has just put one
    words.due.store(settled + QueueWords::kEvery, std::memory_order_relaxed);
    note_queue(own, stream.high);
    if (!work) return;
    words.done = std::max(words.done, shown_done(stream));
    number = ++words.number;
    words.upto[number % QueueWords::kPlaces] = settled;
  }
  write_word(stream, SequenceWord::kQueue, number);
}

void note_full_queue(HighGpu& own, const HighStream& stream) noexcept {
  const bool full = stream.begun.load(std::memory_order_relaxed) - stream.queue.done > protocol::CROWDED_QUEUE;
  if (!full || own.crowded) return;
  own.crowded = true;
  // They stay for good: a launch costs little more with them (test/cost), and a program that did so may do so again.
  if (++own.crowded_bursts != kCrowdedBursts) return;
  own.queue_words.store(true, std::memory_order_relaxed);
  words_wanted.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace cotenant
