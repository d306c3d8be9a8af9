// Sequence words: numbers that the GPU writes into memory of this process behind the work of a stream. Whoever reads one
// knows what is done without a driver call. A stream has two, each with numbers of its own: one reports the end of its
// work (tail.h), the other how full its queue is (queue.h). In a best-effort client the first one holds the marks of a stream
// that has no word for them in shared memory (best_effort/marks.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/state/streams.h"

namespace cotenant {

enum class SequenceWord : std::uint32_t { kTail, kQueue };
inline constexpr std::uint32_t kWordsOfStream = 2;

// For how many GPUs words are wanted, counted once for each of the two. A launch of a client that needs none pays one load.
extern std::atomic<int> words_wanted;

// Whether words can be written in this context. Makes its memory known to the driver at first use. Called on the
// application's thread, and not while it captures.
[[nodiscard]] bool words_work(Context& context) noexcept;

// The number that the GPU wrote last; 0: none yet. The entry of a stream may have had another one before, so the
// number may be older than those of this stream, and a late write of the earlier stream may replace a newer number.
[[nodiscard]] std::uint32_t read_word(const Stream& stream, SequenceWord which) noexcept;

// Where the GPU writes it. Only where words work.
[[nodiscard]] cu::CUdeviceptr word_address(const Stream& stream, SequenceWord which) noexcept;

// Behind the work that is in the stream now. Only where words work.
void write_word(Stream& stream, SequenceWord which, std::uint32_t number) noexcept;

}  // namespace cotenant
