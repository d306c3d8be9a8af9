#pragma once
// Time-slicing: which context has the SMs. One word per device says who and since when; only its holder passes it
// on, and only between slices. Somebody waiting too long takes it: at once from the dead, after kStuck from a
// process that lives but does not run (stopped, or starved). Times are nominal: a turn may begin a little in the
// past when its holder's engine woke late, so that the GPU loses no time to the CPU's scheduler.
#include "softgpu/device/region.h"

namespace cotenant::soft {

// Past the end of the slice, before a live holder is overruled. In mode mps: how long a kernel waits before it is seen
// whether a stopped process has the SMs.
inline constexpr Nanos kStuck = 50 * kMilli;

struct Turn {
  int slot;  // -1: nobody
  Nanos since;
};

Turn read_turn(const DeviceState& device);

// Takes the turn if nobody has it.
bool take_turn(DeviceState& device, unsigned slot, Nanos at);

// Hands the turn to the next runnable context in round-robin order, or to nobody.
void pass_turn(Region& region, unsigned device, unsigned slot, Nanos at);

// When another context began to want the SMs; kNever: none does.
Nanos contended_since(const DeviceState& device, unsigned slot);

// The first end of a slice of a turn taken at `since` that is later than `after`.
Nanos slice_end(Nanos since, Nanos after);

// Takes the turn from a holder that will not pass it on, which has no turn again before it asks for one. When to ask again is in `again`.
bool rescue_turn(Region& region, unsigned device, unsigned slot, Nanos at, Nanos& again);

}  // namespace cotenant::soft
