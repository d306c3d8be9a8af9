#include "interposer/best_effort/hold_word.h"

#include "generated/rules.h"
#include "interposer/state/gpu.h"

namespace cotenant {

bool is_best_effort_gated(const Link& link) noexcept {
  const protocol::Region& region = *link.region;
  const auto& settings = region.settings;
  if (rule::paused(settings)) return true;
  return rule::protect(settings) && region.roster.registered.load(std::memory_order_relaxed) != 0;
}

void best_effort_enter(const Link& link) noexcept {
  for (auto& word : link.best_effort().done) word.store(0, std::memory_order_relaxed);
  const bool active = link.hold_page().active.load(std::memory_order_seq_cst) != 0;
  link.hold().store(active && is_best_effort_gated(link) ? 1 : 0, std::memory_order_seq_cst);
}

void best_effort_open(const Link& link) noexcept { link.hold().store(0, std::memory_order_seq_cst); }

void best_effort_open_former(const Gpu& gpu) noexcept {
  const Link* link = gpu.link.load(std::memory_order_acquire);
  for (; link && link->before; link = link->before) {
    const Link& former = *link->before;
    if (former.hold().load(std::memory_order_relaxed) != 0) best_effort_open(former);
  }
}

}  // namespace cotenant
