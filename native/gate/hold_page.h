// The pause flag of a best-effort client, which its GPU waits for, in the page that its writers share.
#pragma once

#include "gate/gate.h"
#include "generated/protocol.h"

namespace cotenant {

// A value of the word: the GPU stands at its next preemption point because its time slice is renewed. Nobody holds it, so
// the collectives of its gang may begin.
inline constexpr std::uint32_t kStands = 2;

// A word that a request has set keeps its value.
inline void stand_hold(protocol::HoldPage& page) noexcept {
  std::uint32_t open = 0;
  page.word.compare_exchange_strong(open, kStands, std::memory_order_seq_cst);
}

inline bool is_paused(const protocol::HoldPage& page) noexcept {
  const std::uint32_t word = page.word.load(std::memory_order_seq_cst);
  return word != 0 && word != kStands;
}

// Clears the word. A request may begin between a check and the store, so the check comes after it.
inline void open_hold(protocol::HoldPage& page, const protocol::Settings& settings) noexcept {
  page.word.store(0, std::memory_order_seq_cst);
  const bool held = page.active.load(std::memory_order_seq_cst) != 0 && holds_apply(settings);
  if (held) page.word.store(1, std::memory_order_seq_cst);
}

}  // namespace cotenant
