#pragma once
// A condition variable on the clock of the software GPU. Not std::condition_variable: that one needs functions of a newer
// C library.
#include <pthread.h>

#include <mutex>

#include "softgpu/device/clock.h"

namespace cotenant::soft {

class Condition {
 public:
  Condition() noexcept {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  ~Condition() { pthread_cond_destroy(&condition_); }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void wait(std::unique_lock<std::mutex>& lock) noexcept {
    pthread_cond_wait(&condition_, lock.mutex()->native_handle());
  }

  void wait_until(std::unique_lock<std::mutex>& lock, Nanos at) noexcept {
    const timespec until{time_t(at / 1'000'000'000), long(at % 1'000'000'000)};
    pthread_cond_timedwait(&condition_, lock.mutex()->native_handle(), &until);
  }

  void notify_one() noexcept { pthread_cond_signal(&condition_); }
  void notify_all() noexcept { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_;
};

}  // namespace cotenant::soft
