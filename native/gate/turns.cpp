#include "gate/turns.h"

#include <algorithm>

#include "gate/hold.h"
#include "gate/hold_page.h"
#include "generated/rules.h"

namespace cotenant {
namespace {

using protocol::MAX_BEST_EFFORT;
using protocol::Region;

std::uint32_t who_has_work(const Region& region, std::uint32_t taken) noexcept {
  std::uint32_t waiting = 0;
  for (std::uint32_t slot = 0; slot < MAX_BEST_EFFORT; ++slot)
    if ((taken >> slot & 1) != 0 && region.bestEffort[slot].waiting.load(std::memory_order_relaxed) != 0)
      waiting |= 1u << slot;
  return waiting;
}

// As the client itself would see it. It has said that it waits only if its work can be held.
HoldView view_of(std::uint32_t slot, std::uint32_t waiting, std::uint32_t turn, std::uint64_t turn_ns) noexcept {
  HoldView view{};
  view.slot = slot;
  view.waiting = waiting;
  view.turn = turn;
  view.turn_ns = turn_ns;
  view.launches_out = waiting >> slot & 1;
  view.seen.high_registered = true;
  return view;
}

void pass(Region& region, std::uint32_t from, std::uint32_t to, std::uint64_t now_ns) noexcept {
  auto& roster = region.roster;
  if (from < MAX_BEST_EFFORT) region.holds[from].word.store(1, std::memory_order_seq_cst);
  roster.turnSince.store(now_ns, std::memory_order_relaxed);
  roster.turn.store(to, std::memory_order_seq_cst);
  if (region.holds[to].active.load(std::memory_order_seq_cst) == 0) open_hold(region.holds[to], region.settings);
}

}  // namespace

std::uint32_t give_turns(Region& region, std::uint64_t now_ns) noexcept {
  auto& roster = region.roster;
  Rules rules = read_rules(region.settings);
  const std::uint32_t waiting = who_has_work(region, roster.bestEffort.load(std::memory_order_relaxed));
  roster.waiting.store(waiting, std::memory_order_relaxed);
  roster.lookedAt.store(now_ns, std::memory_order_relaxed);
  const std::uint32_t turn = roster.turn.load(std::memory_order_relaxed);
  if (turn < MAX_BEST_EFFORT)
    rules.quantum_us *= std::clamp(roster.shares[turn].load(std::memory_order_relaxed), 1u, protocol::MAX_SHARE);
  const std::uint64_t since = roster.turnSince.load(std::memory_order_relaxed);
  const std::uint64_t turn_ns = now_ns > since ? now_ns - since : 0;
  TurnDecision decision{TurnAction::kKeep, 0};
  for (std::uint32_t slot = 0; slot < MAX_BEST_EFFORT && decision.action == TurnAction::kKeep; ++slot) {
    if (slot != turn && (waiting >> slot & 1) == 0) continue;
    decision = decide_turn(rules, view_of(slot, waiting, turn, turn_ns));
    if (decision.action == TurnAction::kTake) decision.to = slot;
  }
  if (decision.action != TurnAction::kKeep) pass(region, turn, decision.to, now_ns);
  return static_cast<std::uint32_t>(__builtin_popcount(waiting));
}

}  // namespace cotenant
