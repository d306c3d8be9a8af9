// The helper thread: one in each process that uses a GPU; it sleeps nearly always. It keeps the link to the agent, lets
// minimum progress through in long pauses, repairs a wake-up that was lost because a process was killed, and finishes queued
// work when the process leaves. It makes no driver call except at the very end, to ask whether work is done. It clears
// words by plain stores, so it can't be blocked behind work that it must release.
#pragma once

namespace cotenant {

void start_helper() noexcept;  // once; later calls do nothing

void forget_helper() noexcept;  // in a forked child: the thread is not there

}  // namespace cotenant
