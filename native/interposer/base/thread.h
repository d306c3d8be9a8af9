// Threads in the application's process.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace cotenant {

// Detached, with a small stack by default, and with all signals blocked. False: it could not be started.
[[nodiscard]] bool start_thread(void* (*run)(void*), std::size_t stack_bytes = 128 << 10) noexcept;

// A thread of the program that is cancelled here would keep what it holds. Its cancellation waits while this exists.
class NotCancelled {
 public:
  NotCancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() { pthread_setcancelstate(before_, nullptr); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

 private:
  int before_{PTHREAD_CANCEL_ENABLE};
};

}  // namespace cotenant
