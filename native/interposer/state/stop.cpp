#include "interposer/state/stop.h"

#include "interposer/base/clock.h"

namespace cotenant {

void wait_while_moving(Stop& stop) noexcept {
  while ((stop.reasons.load(std::memory_order_seq_cst) & Stop::kMoving) != 0) {
    std::uint64_t until = stop.until_ns.load(std::memory_order_seq_cst);
    // One of the callers and the thread that moves: whoever changes the time first, wins.
    if (until != 0 && now_ns() > until && stop.until_ns.compare_exchange_strong(until, ~0ull)) {
      stop.reasons.fetch_and(static_cast<std::uint8_t>(~Stop::kMoving), std::memory_order_seq_cst);
      return;
    }
    nap_us(200);
  }
}

}  // namespace cotenant
