// The helper thread: one per process that uses a GPU, asleep nearly always. It keeps the link to the
// agent, rescues what was lost (a trickle in long pauses, a wake-up missed because somebody was killed),
// and carries out leaving. It makes no driver call except, at the very end, to ask whether work is done:
// everything it opens is a plain store, so it can't be blocked behind what it must open.
#pragma once

namespace cotenant {

void start_helper() noexcept;  // once; later calls do nothing

void forget_helper() noexcept;  // in a forked child: the thread is not there

}  // namespace cotenant
