// The engine's two threads, and application threads that wait for work.
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "softgpu/engine/engine.h"

namespace cotenant::soft {
namespace {

// A waiting thread spins for this long before its deadline, because sleeping is not precise enough.
constexpr Nanos kSpin = 60 * kMicro;
// The engine's thread does not wake more often than this.
constexpr Nanos kPace = 20 * kMicro;
// How much later the engine's thread wakes while a waiting thread intends to pump.
constexpr Nanos kBackup = 200 * kMicro;
// A waiting thread that cannot compute its deadline looks this often.
constexpr Nanos kRecheck = 5 * kMilli;

void spawn(void* (*body)(void*), void* argument) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the application's handlers run on its own threads
  pthread_t thread;
  if (pthread_create(&thread, nullptr, body, argument) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void Engine::start(const Settings& settings) {
  if (started_) return;
  started_ = true;
  mps_ = settings.mps;
  client_priority_ = settings.client_priority;
  trace_.open(settings.trace);
  spawn(
      [](void* self) -> void* {
        static_cast<Engine*>(self)->run();
        return nullptr;
      },
      this);
  spawn(
      [](void* self) -> void* {
        static_cast<Engine*>(self)->help();
        return nullptr;
      },
      this);
}

// Wakes the engine's thread if it would sleep past something new.
void Engine::rethink() {
  if (sleeping_ && next_event(now()) < planned_) region_.ring(unsigned(&region_.self() - region_.shared().processes));
}

void Engine::run() {
  prctl(PR_SET_NAME, "softgpu");
  prctl(PR_SET_TIMERSLACK, 1000ul);
  std::unique_lock<std::mutex> lock(mutex_);
  std::atomic<std::uint32_t>& bell = region_.self().doorbell;
  for (;;) {
    const std::uint32_t rung = bell.load();  // read before pump, so that a ring during it ends the sleep at once
    pump(now());
    if (trace_.due_at() <= now()) trace_.flush();
    const Nanos at = now();
    Nanos next = next_event(at);
    if (next != kNever) next = std::max(next, at + kPace) + (driving_ > 0 ? kBackup : 0);
    planned_ = next;
    sleeping_ = true;
    lock.unlock();
    const timespec until{time_t(next / 1'000'000'000), long(next % 1'000'000'000)};
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell), FUTEX_WAIT_BITSET, rung,
            next == kNever ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
    lock.lock();
    sleeping_ = false;
  }
}

// A lower bound on the time at which the tickets are complete, from the durations of the kernels queued before them.
Nanos Engine::earliest(const Waiter& waiter) const {
  Nanos bound = 0;
  for (const Ticket& ticket : waiter.tickets) {
    if (ticket.is_complete()) continue;
    Nanos at = 0;
    for (const auto& operation : ticket.stream->queue) {
      if (operation->number > ticket.number) break;
      const Unit& unit = operation->units[0];
      const auto* kernel = as<KernelWork>(*unit.work);
      if (unit.state == Unit::State::running) at = unit.apart ? 0 : unit.end;
      else if (kernel != nullptr && !operation->plan && at != 0) at += kernel->duration;
    }
    bound = std::max(bound, at);
  }
  return bound;
}

void Engine::wait(std::unique_lock<std::mutex>& lock, std::vector<Ticket> tickets) {
  Waiter waiter;
  waiter.tickets = std::move(tickets);
  pump(now());
  if (waiter.is_satisfied()) return;
  waiters_.push_back(&waiter);
  while (!waiter.is_satisfied()) {
    const Nanos at = now();
    const Nanos bound = earliest(waiter);
    if (bound > at) {
      ++driving_;
      if (bound > at + kSpin) waiter.woken.wait_until(lock, bound - kSpin);
      if (!waiter.is_satisfied()) {
        lock.unlock();
        const Nanos last = std::min(bound, now() + kSpin);
        while (now() < last) sched_yield();
        lock.lock();
      }
      --driving_;
    } else {
      rethink();
      waiter.woken.wait_until(lock, at + kRecheck);
    }
    pump(now());
  }
  waiters_.erase(std::find(waiters_.begin(), waiters_.end(), &waiter));
  rethink();
}

void Engine::wake_waiters() {
  for (Waiter* waiter : waiters_) {
    if (waiter->is_satisfied()) waiter->woken.notify_one();
  }
}

}  // namespace cotenant::soft
