// The side of a best-effort client: it submits work well ahead, and the GPU runs it in small steps.
//
// Deep submission: preemption points divide each stream's work into chunks. A preemption point is one batch operation on the stream, {write
// mark = n; wait until hold == 0}. The write tells how far the GPU has come. At the wait the GPU stops while a request
// of a high client is active. To stop the GPU, or to let it continue, a high client or the helper thread stores one
// word.
//
// Launch-by-launch gating is the fall-back. It asks the gate before each launch and uses only the marks.
//
// A stream may also stand still because the GPU waits for the program: for a word that the program writes later, for a
// host function, for a peer. The interposer must never block the program until such a stream moves, because then both
// would wait for ever (standstill.h).
#pragma once

#include "interposer/state/submission.h"

namespace cotenant {

struct Stream;

// Called before the driver call; may wait. The result is passed to best_effort_after() once the call has returned.
struct Admission {
  Stream* stream;
  int timer;  // index of a running timer, -1: none
};
[[nodiscard]] Admission best_effort_before(Stream& stream, const Submission& submission) noexcept;
void best_effort_after(const Admission& admission) noexcept;

}  // namespace cotenant
