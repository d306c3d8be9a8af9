// The pause flag of a best-effort client, which its GPU waits for, in the page that its writers share.
#pragma once

#include "gate/gate.h"
#include "generated/protocol.h"

namespace cotenant {

// Clears the word. A request may begin between a check and the store, so the check comes after it.
inline void open_hold(protocol::HoldPage& page, const protocol::Settings& settings) noexcept {
  page.word.store(0, std::memory_order_seq_cst);
  const bool held = page.active.load(std::memory_order_seq_cst) != 0 && holds_apply(settings);
  if (held) page.word.store(1, std::memory_order_seq_cst);
}

}  // namespace cotenant
