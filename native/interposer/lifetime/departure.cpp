#include "interposer/lifetime/departure.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "interposer/base/clock.h"
#include "interposer/best_effort/tick.h"
#include "interposer/high/tail.h"
#include "interposer/parking/checkpoint.h"
#include "interposer/state/drained.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

constexpr std::uint64_t kDrainNs = 2'000'000'000;

std::atomic<int> noted{0};

void note(int signal) { noted.store(signal, std::memory_order_relaxed); }

// The kernel does not deliver a signal to the first process of a PID namespace (a container's) if the program has no
// handler for it. The interposer must not change that, so it installs no handler there.
bool first_of_its_namespace() noexcept { return getpid() == 1; }

void watch(int signal) noexcept {
  struct sigaction now{};
  if (sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL) return;
  struct sigaction action{};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

// Whether the handler is still the interposer's. The application may have installed its own since then, and handles the
// signal itself.
bool is_still_watching(int signal) noexcept {
  struct sigaction now{};
  return sigaction(signal, nullptr, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == note;
}

void restore(int signal) noexcept {
  if (!is_still_watching(signal)) return;
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
}

}  // namespace

void watch_for_leaving() noexcept {
  if (first_of_its_namespace()) return;
  watch(SIGTERM);
  watch(SIGINT);
}

void stop_watching() noexcept {
  for (const int signal : {SIGTERM, SIGINT}) restore(signal);
  noted.store(0, std::memory_order_relaxed);
}

int leaving_signal() noexcept { return noted.load(std::memory_order_relaxed); }

void leave(int signal) noexcept {
  if (!is_still_watching(signal)) {
    noted.store(0, std::memory_order_relaxed);
    return;
  }
  for (std::uint32_t i = 0; i < gpu_count(); ++i) gpu_at(i).best_effort.stop.reasons.fetch_or(Stop::kLeaving);
  const std::uint64_t until = now_ns() + kDrainNs;
  // A checkpointed process has nothing queued, and a call of the driver would not return.
  while (now_ns() < until && !is_checkpointed() && !is_drained()) {
    for (std::uint32_t i = 0; i < gpu_count(); ++i) {
      const auto tick = role() == Role::kHigh ? high_tick : best_effort_tick;
      static_cast<void>(tick(gpu_at(i), now_ns()));
    }
    nap_us(1000);
  }
  restore(signal);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  kill(getpid(), signal);
  // The process still runs: a debugger has kept the signal. The program continues as it would without the interposer.
  pthread_sigmask(SIG_BLOCK, &only, nullptr);
  noted.store(0, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < gpu_count(); ++i)
    gpu_at(i).best_effort.stop.reasons.fetch_and(static_cast<std::uint8_t>(~Stop::kLeaving));
}

}  // namespace cotenant
