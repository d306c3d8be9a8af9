// Starts a thread in the application's process: detached, with a small stack by default, and with all signals blocked.
#pragma once

#include <cstddef>

namespace cotenant {

// False: it could not be started.
[[nodiscard]] bool start_thread(void* (*run)(void*), std::size_t stack_bytes = 128 << 10) noexcept;

}  // namespace cotenant
