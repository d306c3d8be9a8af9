// Work that the program leaves behind: it sees the end of its request, goes to rest, and some of what it has submitted is still
// outstanding. It copies the next inputs in, moves a cache to the host, counts something in a side stream. Nobody waits for
// that work by itself, so no call shows its end, and without that it would hold best-effort work until the next request.
//
// The helper thread notices that a program neither submits, waits nor asks while work is outstanding, right after a poll or for
// long. If that is usual, the streams concerned get tail words (tail.h) behind the kinds of work that are left in them, and
// the hold ends when the GPU has done them. A burst ends for the statistics when the program last looked.
#pragma once

#include <cstdint>

#include "interposer/high/high.h"
#include "interposer/state/gpu.h"

namespace cotenant {

// A pause that tells: right after a poll, and after a submission. In a request, too, a program may compute between launches.
inline constexpr std::uint64_t kLeftAfterLookNs = 1'000'000;
inline constexpr std::uint64_t kLeftAfterWorkNs = 20'000'000;

// All of it under HighGpu::lock.

// The program saw work end. `submissions`: launches and copies so far; kNothingLeft: nothing is outstanding.
inline constexpr std::uint64_t kNothingLeft = ~std::uint64_t{0};
[[gnu::cold]] void note_unneeded(HighGpu& own) noexcept;
inline void note_seen(HighGpu& own, std::uint64_t submissions, std::uint64_t now) noexcept {
  own.left.seen_ns = now;
  own.left.seen_submissions = submissions;
  if (own.left.score != 0 && --own.left.score == 0) note_unneeded(own);
}
// For how long the program has done nothing, though work is outstanding, and whether that tells that it left the work. `latest_ns`:
// its last submission, as far as is known. `looked`: it has submitted nothing since it last saw work end.
[[nodiscard]] bool rests(const HighGpu& own, std::uint64_t latest_ns, bool looked, std::uint64_t now) noexcept;
// A burst that a word ended was followed by a pause.
void note_paused(HighGpu& own) noexcept;

// One look of the helper thread. `quiet_since`: since when it has seen no submission.
void look_for_left(Gpu& gpu, std::uint64_t quiet_since, std::uint64_t now) noexcept;

// Launches and copies of the client.
[[nodiscard]] std::uint64_t submissions_of(const Gpu& gpu) noexcept;

}  // namespace cotenant
