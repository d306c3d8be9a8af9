// Leaving on SIGTERM or SIGINT. If the application has no handler, the interposer's notes the signal. The helper thread
// then stops submission, lets queued work finish, and raises the signal again with its default action. An abrupt end in
// the middle of a kernel can hang the other clients under MPS.
#pragma once

namespace cotenant {

// Installs the handlers. May be called only while the helper thread runs, because that thread acts on the signal.
void watch_for_leaving() noexcept;
void stop_watching() noexcept;
[[nodiscard]] int leaving_signal() noexcept;  // 0: none
void leave(int signal) noexcept;

}  // namespace cotenant
