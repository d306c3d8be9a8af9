// Leaving on SIGTERM or SIGINT. Where the application has no handler of its own, ours notes the signal;
// the helper thread then freezes submission, lets what is queued finish, and raises the signal again with
// its default action. An abrupt kill in mid-kernel can hang the neighbours under MPS.
#pragma once

namespace cotenant {

// Installs the handlers. Call it only while the helper thread runs, which carries the signal out.
void watch_for_leaving() noexcept;
void stop_watching() noexcept;
[[nodiscard]] int leaving_signal() noexcept;  // 0: none
void leave(int signal) noexcept;

}  // namespace cotenant
