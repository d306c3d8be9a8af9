// The gate as a C library for the model and the tests. What is passed are blocks of doubles, in the order of the fields in
// src/protocol/gate.ts, so that the other side needs no C++ header.
#include <cstring>
#include <type_traits>

#include "gate/gate.h"
#include "gate/histogram.h"
#include "gate/hold.h"
#include "gate/parts.h"

using namespace cotenant;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// Copies a value that may be unaligned, because a program in another language allocates it.
Rules rules_from(const void* settings) noexcept {
  alignas(protocol::Settings) unsigned char bytes[sizeof(protocol::Settings)];
  std::memcpy(bytes, settings, sizeof bytes);
  return read_rules(*reinterpret_cast<const protocol::Settings*>(bytes));
}

static_assert(sizeof(HoldState) <= sizeof(HoldBlock::state));
static_assert(std::is_trivially_copyable_v<HoldState>);

}  // namespace

// `settings` is laid out as the shared struct.
EXPORT std::uint32_t cotenant_release(const void* settings, const double* seen) {
  return static_cast<std::uint32_t>(release(rules_from(settings), gate_view_from(seen)));
}

EXPORT std::uint32_t cotenant_admit(const void* settings, const double* seen, const double* item) {
  return static_cast<std::uint32_t>(admit(rules_from(settings), gate_view_from(seen), item_from(item)));
}

EXPORT std::uint64_t cotenant_spent_after(const void* settings, const double* seen, const double* item) {
  return spent_after(rules_from(settings), gate_view_from(seen), item_from(item));
}

EXPORT std::uint64_t cotenant_due_after(const void* settings, std::uint64_t due_ns, std::uint64_t now_ns) {
  return due_after(rules_from(settings), due_ns, now_ns);
}

EXPORT std::uint32_t cotenant_has_room(const void* settings, std::uint64_t launches_out, std::uint64_t out_ns) {
  return has_room(rules_from(settings), launches_out, [&] { return out_ns; });
}

EXPORT std::uint32_t cotenant_admit_copy(const void* settings, std::uint64_t waited_us, std::uint64_t ahead_us,
                                         std::uint32_t high_copying) {
  return static_cast<std::uint32_t>(admit_copy(rules_from(settings), waited_us, ahead_us, high_copying != 0));
}

EXPORT std::uint32_t cotenant_closes(const void* settings, const double* chunk, const double* item) {
  return closes(rules_from(settings), chunk_from(chunk), item_from(item));
}

// How a product is divided of which only the grid is known: its tiles stand for lines of the result. The third side is
// never divided, because it may be the sum. `product`: the sides x and y, the blocks of z, the SMs, how long it takes
// and the target, in us. `parts`: the side, and the lines of each part; 0: it stays whole.
EXPORT void cotenant_parts(const std::uint32_t* product, std::uint32_t* parts) {
  const std::uint32_t sms = product[3], us = product[4], target_us = product[5];
  parts[0] = parts[1] = 0;
  if (!is_long(us, target_us)) return;
  const std::uint64_t blocks = std::uint64_t{product[0]} * product[1] * product[2];
  const std::uint64_t waves = waves_of(blocks, sms);
  Parts best{};
  for (std::uint32_t side = 0; side < 2; ++side) {
    const std::uint64_t lines = product[side], across = blocks / lines;
    std::uint32_t pieces = most_parts(us, target_us);
    std::int64_t count = 0;
    while ((count = next_count(product[side], 1, pieces, count)) != 0) {
      const auto each = static_cast<std::uint64_t>(count);
      const std::uint64_t full = lines / each, left = lines % each, each_waves = waves_of(each * across, sms);
      const Parts found{count, full + (left > 0), each_waves, full * each_waves + waves_of(left * across, sms)};
      if (!is_affordable(found, waves, us, target_us) || !is_better(found, best, waves, us, target_us)) continue;
      best = found;
      parts[0] = side;
    }
  }
  if (is_worthwhile(best, waves)) parts[1] = static_cast<std::uint32_t>(best.count);
}

EXPORT std::uint32_t cotenant_bucket_of(std::uint64_t ns) { return bucket_of(ns); }

// One look of a helper thread without interference: what it decides about the turn is applied before it decides the
// rest.
EXPORT void cotenant_hold(const void* settings, double* block) {
  const Rules rules = rules_from(settings);
  HoldBlock words;
  std::memcpy(&words, block, sizeof words);
  HoldView view = hold_view_from(words.view);
  HoldState state;
  std::memcpy(&state, words.state, sizeof state);
  // The client's own bit in `waiting` is decided here, too.
  const std::uint32_t own = 1u << view.slot;
  view.waiting = has_backlog(rules, view) ? view.waiting | own : view.waiting & ~own;
  const TurnDecision turn = decide_turn(rules, view);
  if (turn.action == TurnAction::kGive) {
    view.held = true;
    view.turn = turn.to;
  } else if (turn.action == TurnAction::kTake) {
    view.turn = view.slot;
  }
  view.seen.my_turn = has_turn(view.slot, view.waiting, view.turn);
  const HoldDecision hold = decide_hold(rules, view, state);
  put_decision(turn, hold, words);
  std::memcpy(words.state, &state, sizeof state);
  std::memcpy(block, &words, sizeof words);
}
