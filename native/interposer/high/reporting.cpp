#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "interposer/agent/link.h"
#include "interposer/base/thread.h"
#include "interposer/high/requests.h"
#include "interposer/process/process.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

using protocol::HelloKind;
using protocol::HighSlot;
using protocol::WelcomeStatus;

// Interval of attempts to reach an agent, and of checks whether the process uses a GPU by now.
constexpr int kAgainMs = 1000;

std::atomic<HighSlot*> current{nullptr};
std::atomic<bool> started{false};
// The thread's own; after a fork the child's, which has no other thread.
Knock asking;
OwnDescriptor connection;
// A file is mapped over the one before it, because another thread may still write there.
void* place = nullptr;
bool refusal_said = false;

bool uses_gpu() noexcept { return gpu_count() > 0; }

bool map_slot(int fd) noexcept {
  constexpr int kRights = PROT_READ | PROT_WRITE;
  if (!place) place = mmap(nullptr, sizeof(HighSlot), kRights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) place = nullptr;
  return place && map_file(place, sizeof(HighSlot), fd, kRights);
}

void say_refusal() noexcept {
  if (refusal_said) return;
  refusal_said = true;
  asking.welcome.reason[sizeof asking.welcome.reason - 1] = '\0';
  tell("the agent refuses this process' reports of requests: %s", asking.welcome.reason);
}

bool connect_to_agent() noexcept {
  if (!knock(asking, hello_for(GpuIdentity{}, HelloKind::kReport), Door::kWait, {}, kPatientMs)) return false;
  if (hear_within(asking) != Heard::kWelcome) return false;
  const bool ok = asking.welcome.status == static_cast<std::uint32_t>(WelcomeStatus::kOk);
  if (asking.welcome.status == static_cast<std::uint32_t>(WelcomeStatus::kRefused)) say_refusal();
  const bool mapped = ok && asking.came_count > 0 && map_slot(asking.came[0].number());
  if (mapped) connection = take_socket(asking);
  forget(asking);
  return mapped;
}

// Also ends when the program has closed the connection.
void wait_for_hang_up() noexcept {
  while (!uses_gpu()) {
    pollfd waiting{connection.number(), POLLRDHUP, 0};
    if (waiting.fd < 0 || poll(&waiting, 1, kAgainMs) > 0) return;
  }
}

void* run(void*) {
  while (!uses_gpu()) {
    if (connect_to_agent()) {
      current.store(static_cast<HighSlot*>(place), std::memory_order_release);
      wait_for_hang_up();
      current.store(nullptr, std::memory_order_release);
      connection.close();
    }
    for (int ms = 0; ms < kAgainMs && !uses_gpu(); ms += kAgainMs / 10) usleep(kAgainMs / 10 * 1000);
  }
  return nullptr;
}

}  // namespace

HighSlot* report_slot() noexcept { return current.load(std::memory_order_acquire); }

void report_requests() noexcept {
  if (uses_gpu() || started.load(std::memory_order_relaxed) || started.exchange(true)) return;
  if (!start_thread(run)) started.store(false);
}

void forget_report() noexcept {
  current.store(nullptr, std::memory_order_relaxed);
  connection.close();
  forget(asking);
  place = nullptr;
  started.store(false, std::memory_order_relaxed);
}

}  // namespace cotenant
