// Completions that nobody shows us. An application may poll a pinned word that its own work writes;
// no driver call is made when it sees it. A client that submits much, and never looks at what is done, or of which the
// last resort ended a few bursts, is taken for such a one. Its work is then followed by sequence words that the helper
// thread reads: behind graph launches and copies to the host, and behind such work as it has a few times fallen
// silent after.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/state/streams.h"
#include "interposer/state/submission.h"

namespace cotenant {

struct Gpu;

// Some GPU's `tails` is set: one load on the launch path of a client that needs none.
extern std::atomic<int> tails_wanted;

// The helper thread's look at a client whose completions may go unobserved: reads the sequence
// words, gives up after a long silence, ends announcements. Returns in how many microseconds to look again.
[[nodiscard]] std::uint32_t high_tick(Gpu& gpu, std::uint64_t now) noexcept;

// Behind work just submitted: a sequence word, if this client needs it there. From the application's thread,
// not while capturing.
enum class Tail { kNo, kYes };  // kYes: may be the last work of a request whose end nobody asks the driver for
void high_write_tail(Stream& stream, const Submission& submission, Tail tail) noexcept;

}  // namespace cotenant
