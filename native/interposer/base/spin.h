// A lock within one process for sections of a few dozen instructions. Never held during a driver call, a system call or
// a wait.
#pragma once

#include <sched.h>

#include <atomic>

namespace cotenant {

class Spin {
 public:
  void lock() noexcept {
    for (int tries = 0; taken_.exchange(true, std::memory_order_acquire);)
      if (++tries % 64 == 0) sched_yield();
  }
  bool try_lock() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

class Locked {
 public:
  explicit Locked(Spin& spin) noexcept : spin_(spin) { spin_.lock(); }
  ~Locked() { spin_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Spin& spin_;
};

}  // namespace cotenant
