#include "interposer/process/helper_state.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace cotenant {
namespace {

std::atomic<bool> started{false};
std::atomic<std::uint32_t> calls{0};  // a futex: raised by who wants the nap to end

}  // namespace

void wake_helper() noexcept {
  calls.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &calls, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

bool helper_runs() noexcept { return started.load(std::memory_order_relaxed); }

bool set_helper_runs(bool runs) noexcept { return started.exchange(runs); }

std::uint32_t helper_wakes() noexcept { return calls.load(std::memory_order_acquire); }  // pairs with wake_helper

void nap_unless_woken(std::uint32_t heard, std::uint32_t us) noexcept {
  const timespec t{0, static_cast<long>(us) * 1000};
  syscall(SYS_futex, &calls, FUTEX_WAIT_PRIVATE, heard, &t, nullptr, 0);
}

}  // namespace cotenant
