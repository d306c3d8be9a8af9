// A thread of ours in somebody else's process: detached, with a small stack, and deaf to signals.
#pragma once

namespace cotenant {

// False: it could not be started.
[[nodiscard]] bool start_helper_thread(void* (*run)(void*)) noexcept;

}  // namespace cotenant
