// Assigns SMs. Within a context the most urgent kernel comes first, one whole kernel at a time. A kernel that does not fit
// delays those after it, as on a GPU blocks of a later kernel wait for those of an earlier one. Contexts take turns
// (turn.h); in mode mps all processes allocate from one pool of SMs under the file lock.
#include <algorithm>

#include "softgpu/device/memory.h"
#include "softgpu/device/turn.h"
#include "softgpu/engine/engine.h"
#include "softgpu/engine/meeting.h"

namespace cotenant::soft {
namespace {

int urgency(const Unit& unit) {
  const auto* kernel = as<KernelWork>(*unit.work);
  return kernel->has_priority ? kernel->priority : unit.operation->stream->priority;
}

std::uint32_t* word_at(CUdeviceptr address) {
  const bool there = address != 0 && memory().find(address, 4) != nullptr;
  return there ? reinterpret_cast<std::uint32_t*>(std::uintptr_t(address)) : nullptr;
}

std::uint64_t blocks_done(const Resumable& kernel) {
  const std::uint32_t* next = word_at(kernel.next);
  return next ? std::min<std::uint64_t>(__atomic_load_n(next, __ATOMIC_ACQUIRE), kernel.blocks) : 0;
}

void set_blocks_done(const Resumable& kernel, std::uint64_t blocks) {
  if (std::uint32_t* next = word_at(kernel.next)) __atomic_store_n(next, std::uint32_t(blocks), __ATOMIC_RELEASE);
}

}  // namespace

void Engine::queue_kernel(Context& root, Unit& unit) {
  const auto& kernel = *as<KernelWork>(*unit.work);
  unit.remaining = kernel.duration;
  if (const Resumable& r = kernel.resumable; r.blocks > 0)
    unit.remaining = kernel.duration * (r.blocks - blocks_done(r)) / r.blocks;
  const auto place = std::find_if(root.pending.begin(), root.pending.end(), [&](const Unit* other) {
    return urgency(unit) < urgency(*other) || (urgency(unit) == urgency(*other) && unit.ready < other->ready);
  });
  root.pending.insert(place, &unit);
}

void Engine::schedule(Context& context, Nanos at) {
  if (!mps_) {
    schedule_slices(context, at);
  } else if (!context.pending.empty()) {
    if (at > reaped_ + 10 * kMilli && context.running.empty()) {
      reaped_ = at;  // the SMs that are missing may belong to a process that was killed
      region_.reap();
    }
    start_fitting(context, true);
  }
}

void Engine::schedule_slices(Context& context, Nanos at) {
  DeviceState& device = region_.device(context.device);
  ContextSlot& entry = region_.context(context.device, context.slot);
  const bool wants = !context.pending.empty() || !context.running.empty();
  if (wants && entry.runnable_since.load() == 0) {
    // seq_cst: a process that gives up the turn checks for waiting ones afterwards; this one checks the turn below
    entry.runnable_since = context.pending.empty() ? at : context.pending.front()->ready;
    // The holder saw no other context and may sleep past the end of its slice.
    const Turn turn = read_turn(device);
    if (turn.slot >= 0 && turn.slot != int(context.slot)) region_.ring_owner(context.device, unsigned(turn.slot));
  }
  if (!wants && entry.runnable_since.load() != 0) entry.runnable_since = 0;
  follow_turn(context);
  if (!wants) {
    if (context.holds_turn) {
      context.holds_turn = false;
      pass_turn(region_, context.device, context.slot, std::max(context.freed, context.slice_begin));
    }
    return;
  }
  if (!context.holds_turn) {
    const bool took =
        take_turn(device, context.slot, entry.runnable_since.load()) ||
        (at >= context.ask_again && rescue_turn(region_, context.device, context.slot, at, context.ask_again));
    if (took) follow_turn(context);
    else if (context.ask_again <= at) context.ask_again = at + 2 * kMilli;
  }
  if (context.holds_turn) start_fitting(context, false);
}

// Notices that the context got the turn or lost it.
void Engine::follow_turn(Context& context) {
  const Turn turn = read_turn(region_.device(context.device));
  const bool has_turn = turn.slot == int(context.slot);
  if (has_turn && !context.holds_turn) {
    context.holds_turn = true;
    context.slice_begin = turn.since;
    context.counted = std::max(context.counted, turn.since);
    for (Unit* unit : context.running) unit->end = unit->apart ? kNever : turn.since + unit->remaining;
  } else if (!has_turn && context.holds_turn) {
    freeze(context, std::min(turn.slot < 0 ? now() : turn.since, now()));
  }
}

// The running kernels keep their SMs and their remaining time for the next turn.
void Engine::freeze(Context& context, Nanos at) {
  count_busy(context, at);
  context.holds_turn = false;
  context.ask_again = at;
  for (Unit* unit : context.running) {
    if (!unit->apart) unit->remaining = unit->end > at ? unit->end - at : 0;
  }
}

// When the turn must be passed on; kNever: no other context wants it.
Nanos Engine::slice_event(Context& context) {
  if (mps_ || !context.holds_turn) return kNever;
  const Nanos other = contended_since(region_.device(context.device), context.slot);
  return other == kNever ? kNever : slice_end(context.slice_begin, other);
}

void Engine::start_fitting(Context& root, bool shared) {
  const unsigned total = region_.device(root.device).sms.load();
  const unsigned pool = root.sm_limit == 0 ? total : root.sm_limit;
  for (std::size_t i = 0; i < root.pending.size();) {
    Unit& unit = *root.pending[i];
    Context& owner = *unit.operation->stream->context;
    const unsigned wanted = std::min(as<KernelWork>(*unit.work)->sms, total);
    const unsigned limit = owner.sm_limit == 0 ? pool : std::min(pool, owner.sm_limit);
    const unsigned sms = std::min(wanted, limit);
    if (&owner != &root && owner.sm_in_use + sms > owner.sm_limit) {
      unit.blocked = true;  // by its own partition: other kernels may start
      ++i;
      continue;
    }
    if (root.sm_in_use + sms > pool || (shared && !reserve_shared(root, unit, sms))) {
      unit.blocked = true;
      return;
    }
    root.pending.erase(root.pending.begin() + std::ptrdiff_t(i));
    unit.begin = std::max(unit.ready, root.slice_begin);
    if (unit.blocked) unit.begin = std::max(unit.begin, root.freed);
    if (unit.blocked && shared)
      unit.begin = std::max(unit.begin, std::min(now(), region_.device(root.device).freed_at.load()));
    count_busy(root, unit.begin);
    unit.remaining *= (wanted + sms - 1) / sms;  // on fewer SMs: as many waves more
    unit.end = unit.begin + unit.remaining;
    unit.sms = sms;
    unit.state = Unit::State::running;
    root.sm_in_use += sms;
    if (&owner != &root) owner.sm_in_use += sms;
    root.running.push_back(&unit);
    if (as<KernelWork>(*unit.work)->meeting != nullptr) arrive(unit, 0, unit.begin);
  }
}

// Mode mps: takes SMs from the pool of all processes, or publishes how many are needed. A waiting kernel that is more
// urgent, or equally urgent and earlier, goes first.
bool Engine::reserve_shared(Context& root, const Unit& unit, unsigned sms) {
  const Region::Lock lock(region_);
  DeviceState& device = region_.device(root.device);
  ContextSlot& mine = device.contexts[root.slot];
  const int urgent = client_priority_ * 16 + urgency(unit);
  if (unit.ready + kStuck < now()) take_from_stopped(root);
  unsigned held = 0;
  bool behind = false;
  for (const ContextSlot& other : device.contexts) {
    if (other.process.load() == 0) continue;
    held += other.sms_held.load();
    if (&other == &mine || other.sms_wanted.load() == 0) continue;
    const int his = other.urgency.load();
    behind |= his < urgent || (his == urgent && other.runnable_since.load() < unit.ready);
  }
  const unsigned total = device.sms.load();
  if (!behind && held + sms <= total) {
    mine.sms_held += sms;
    mine.sms_wanted = 0;
    return true;
  }
  mine.urgency = urgent;
  mine.runnable_since = unit.ready;
  mine.sms_wanted = sms;
  return false;
}

// A real GPU ends the kernels of a process that is stopped. When this one goes on, its kernels end without SMs. The lock is held.
void Engine::take_from_stopped(const Context& root) {
  for (unsigned slot = 0; slot < kMaxContexts; ++slot) {
    ContextSlot& other = region_.context(root.device, slot);
    if (slot == root.slot || (other.sms_held.load() == 0 && other.sms_wanted.load() == 0)) continue;
    if (!region_.owner_stopped(root.device, slot)) continue;
    other.sms_held = 0;
    other.sms_wanted = 0;
  }
}

void Engine::count_busy(Context& context, Nanos at) {
  if (at <= context.counted) return;
  if (!context.running.empty() && (mps_ || context.holds_turn)) {
    const Nanos span = at - context.counted;
    ContextSlot& entry = region_.context(context.device, context.slot);
    DeviceState& device = region_.device(context.device);
    entry.busy_ns.fetch_add(span, std::memory_order_relaxed);
    entry.sm_ns.fetch_add(span * context.sm_in_use, std::memory_order_relaxed);
    device.busy_ns.fetch_add(span, std::memory_order_relaxed);
    device.sm_ns.fetch_add(span * context.sm_in_use, std::memory_order_relaxed);
  }
  context.counted = at;
}

// A kernel is at a phase of its meeting, and keeps its SMs until all members are.
void Engine::arrive(Unit& unit, unsigned phase, Nanos at) {
  Meeting* meeting = as<KernelWork>(*unit.work)->meeting;
  unit.apart = true;
  unit.phase = phase;
  unit.end = kNever;
  meeting->arrive(meeting, phase, at);
  region_.ring_others();  // the other members' kernels may be those of other processes
}

// Kernels whose meetings are complete go on.
void Engine::meet() {
  for (Context* context : contexts_) {
    if (!mps_ && !context->holds_turn) continue;
    for (Unit* unit : context->running) {
      if (!unit->apart) continue;
      Meeting* meeting = as<KernelWork>(*unit->work)->meeting;
      const Nanos met = meeting->reached(meeting, unit->phase);
      if (met == Meeting::kNotYet) continue;
      unit->apart = false;
      unit->end = std::max({met, unit->begin, mps_ ? 0 : context->slice_begin}) + unit->remaining;
    }
  }
}

// Resumable kernels whose stop flag is set end after their current blocks.
void Engine::stop_where_asked(Nanos at) {
  for (Context* context : contexts_) {
    if (!mps_ && !context->holds_turn) continue;
    for (Unit* unit : context->running) {
      const auto& kernel = *as<KernelWork>(*unit->work);
      const Resumable& r = kernel.resumable;
      const std::uint32_t* flag = r.blocks > 0 ? word_at(r.flag) : nullptr;
      if (unit->stopped || !flag || unit->end <= at || __atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) continue;
      const std::uint64_t left = std::min((unit->end - at) * r.blocks / std::max<Nanos>(kernel.duration, 1), r.blocks);
      if (left == 0) continue;
      set_blocks_done(r, r.blocks - left);
      unit->end = std::max(at, unit->begin);
      unit->stopped = true;
    }
  }
}

namespace {

// Another process takes all of them from one that is stopped.
void give_back(std::atomic<std::uint32_t>& held, std::uint32_t sms) {
  std::uint32_t now = held.load();
  while (!held.compare_exchange_weak(now, now - std::min(now, sms))) {
  }
}

}  // namespace

void Engine::end_kernel(Context& root, Unit& unit) {
  count_busy(root, unit.end);
  root.running.erase(std::find(root.running.begin(), root.running.end(), &unit));
  root.sm_in_use -= unit.sms;
  Context& owner = *unit.operation->stream->context;
  if (&owner != &root) owner.sm_in_use -= unit.sms;
  root.freed = unit.end;
  if (mps_) {
    DeviceState& device = region_.device(root.device);
    give_back(device.contexts[root.slot].sms_held, unit.sms);
    device.freed_at = unit.end;
    for (unsigned slot = 0; slot < kMaxContexts; ++slot) {
      if (slot != root.slot && device.contexts[slot].sms_wanted.load() != 0) region_.ring_owner(root.device, slot);
    }
  }
  const auto& kernel = *as<KernelWork>(*unit.work);
  if (kernel.meeting != nullptr) kernel.meeting->end(kernel.meeting);
  const Resumable& r = kernel.resumable;
  const bool completes = r.blocks == 0 || (!unit.stopped && blocks_done(r) < r.blocks);
  if (r.blocks > 0 && !unit.stopped) set_blocks_done(r, r.blocks);
  if (completes) apply(kernel.effect);
  finish(unit, unit.end);
}

}  // namespace cotenant::soft
