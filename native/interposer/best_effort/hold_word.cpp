#include "interposer/best_effort/hold_word.h"

#include "generated/rules.h"
#include "interposer/state/gpu.h"

namespace cotenant {

bool is_best_effort_gated(const Link& link) noexcept {
  const protocol::Region& region = *link.region;
  const auto& settings = region.settings;
  if (rule::paused(settings)) return true;
  return rule::protect(settings) && region.activity.registered.load(std::memory_order_relaxed) != 0;
}

void best_effort_enter(const Link& link) noexcept {
  for (auto& word : link.region->marks[link.slot].done) word.store(0, std::memory_order_relaxed);
  const bool active = link.region->activity.active.load(std::memory_order_seq_cst) != 0;
  link.hold().store(active && is_best_effort_gated(link) ? 1 : 0, std::memory_order_seq_cst);
}

void best_effort_open(const Link& link) noexcept { link.hold().store(0, std::memory_order_seq_cst); }

void best_effort_open_former(const Gpu& gpu) noexcept {
  const Link* link = gpu.link.load(std::memory_order_acquire);
  for (; link && link->before; link = link->before) {
    const Link& former = *link->before;
    // The slot may belong to another process by now.
    const bool is_own_slot = former.best_effort().pid.load(std::memory_order_relaxed) == link->before_pid;
    if (is_own_slot && former.hold().load(std::memory_order_relaxed) != 0) best_effort_open(former);
  }
}

}  // namespace cotenant
