// A thread of ours in somebody else's process: detached, with a small stack unless said, and deaf to signals.
#pragma once

#include <cstddef>

namespace cotenant {

// False: it could not be started.
[[nodiscard]] bool start_helper_thread(void* (*run)(void*), std::size_t stack_bytes = 128 << 10) noexcept;

}  // namespace cotenant
