// One compare-and-swap decides every hand-over, so two processes believe that they have the turn at most until the
// loser reads the word.
#include "softgpu/device/turn.h"

namespace cotenant::soft {
namespace {

constexpr Nanos kDeadGrace = 2 * kMilli;  // past the end of the slice, before liveness is checked
constexpr Nanos kMaxLag = 10 * kMilli;    // how far in the past a turn may begin

std::uint64_t pack(int slot, Nanos since) { return since << 8 | std::uint64_t(slot + 1); }

Nanos beginning(DeviceState& device, unsigned slot, Nanos at) {
  const Nanos clock = now();
  if (at + kMaxLag < clock) at = clock - kMaxLag;
  if (device.last_slot.exchange(slot + 1) == slot + 1) return at;
  device.switches.fetch_add(1, std::memory_order_relaxed);
  return at + kSwitch;
}

}  // namespace

Turn read_turn(const DeviceState& device) {
  const std::uint64_t word = device.turn.load();
  return {int(word & 0xff) - 1, word >> 8};
}

bool take_turn(DeviceState& device, unsigned slot, Nanos at) {
  std::uint64_t nobody = device.turn.load();
  if (nobody != 0) return false;
  const Nanos freed = device.freed_at.load();
  const Nanos since = beginning(device, slot, freed > at ? freed : at);
  return device.turn.compare_exchange_strong(nobody, pack(int(slot), since));
}

void pass_turn(Region& region, unsigned index, unsigned slot, Nanos at) {
  DeviceState& device = region.device(index);
  std::uint64_t mine = device.turn.load();
  if ((mine & 0xff) != slot + 1) return;
  for (unsigned step = 1; step < kMaxContexts; ++step) {
    const unsigned next = (slot + step) % kMaxContexts;
    const Nanos wanted = device.contexts[next].runnable_since.load();
    if (wanted == 0) continue;
    const Nanos since = beginning(device, next, wanted > at ? wanted : at);
    if (device.turn.compare_exchange_strong(mine, pack(int(next), since))) region.ring_owner(index, next);
    return;
  }
  device.freed_at = at;
  if (!device.turn.compare_exchange_strong(mine, 0)) return;
  // Another context may have begun to wait after the check and before the release. It saw the old turn, so ring its bell.
  for (unsigned other = 0; other < kMaxContexts; ++other) {
    if (other != slot && device.contexts[other].runnable_since.load() != 0) region.ring_owner(index, other);
  }
}

Nanos contended_since(const DeviceState& device, unsigned slot) {
  Nanos earliest = kNever;
  for (unsigned other = 0; other < kMaxContexts; ++other) {
    if (other == slot) continue;
    const Nanos since = device.contexts[other].runnable_since.load();
    if (since != 0 && since < earliest) earliest = since;
  }
  return earliest;
}

Nanos slice_end(Nanos since, Nanos after) {
  if (after < since) after = since;
  return since + ((after - since) / kSlice + 1) * kSlice;
}

bool rescue_turn(Region& region, unsigned index, unsigned slot, Nanos at, Nanos& again) {
  DeviceState& device = region.device(index);
  std::uint64_t word = device.turn.load();
  const Turn turn{int(word & 0xff) - 1, word >> 8};
  again = at + kDeadGrace;
  if (turn.slot < 0 || turn.slot == int(slot)) return false;
  const Nanos wanted = device.contexts[slot].runnable_since.load();
  const Nanos due = slice_end(turn.since, wanted);
  if (at < due + kDeadGrace) {
    again = due + kDeadGrace;
    return false;
  }
  if (at < due + kStuck && region.owner_alive(index, unsigned(turn.slot))) return false;
  const Nanos since = beginning(device, slot, at);
  if (!device.turn.compare_exchange_strong(word, pack(int(slot), since))) return false;
  // It asks again as soon as it runs. Until then nobody passes the turn on to it.
  device.contexts[unsigned(turn.slot)].runnable_since = 0;
  region.reap();
  return true;
}

}  // namespace cotenant::soft
