// A best-effort client's side: work is submitted well ahead and released in small steps.
//
// Deep submission: each stream's work is divided by borders into chunks. A border is one batch operation
// on the stream, {write mark = n; wait until hold == 0}: the write tells how far the GPU has come, the
// wait is where the GPU itself stops when a request of a high client is active. Stopping and going on
// again is one store by whoever knows (a high client, or our helper thread).
// Launch-by-launch gating (the fall-back) asks the gate before each launch and uses the marks alone.
//
// A stream may also stand still because the GPU waits for the program: for a word that the program writes later, a host
// function, a peer. We must never block the program until such a stream moves: it would wait for itself (standstill.h).
#pragma once

#include "interposer/state/submission.h"

namespace cotenant {

struct Stream;

// Before the driver call; may wait. Hands what it began to best_effort_after.
struct Admission {
  Stream* stream;
  int timer;  // index of a running timer, -1: none
};
[[nodiscard]] Admission best_effort_before(Stream& stream, const Submission& submission) noexcept;
void best_effort_after(const Admission& admission) noexcept;

}  // namespace cotenant
