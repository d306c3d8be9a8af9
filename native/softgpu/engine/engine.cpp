// The order of events: what is due next on the modelled device, and what follows from it.
#include "softgpu/engine/engine.h"

#include <algorithm>

#include "softgpu/device/turn.h"

namespace cotenant::soft {
namespace {

// How often a kernel's stop flag is read: nothing signals that it was set.
constexpr Nanos kFlagEvery = 25 * kMicro;
// A meeting's members ring when they arrive. Nothing rings when a program gives its meeting up.
constexpr Nanos kMeetEvery = 1 * kMilli;
// Busy time in the shared file is never older than this.
constexpr Nanos kPublish = 100 * kMilli;

}  // namespace

void Engine::enqueue(Stream& stream, std::unique_ptr<Operation> operation) {
  operation->stream = &stream;
  operation->number = ++stream.submitted;
  operation->enqueued = now();
  const std::size_t steps = operation->plan ? operation->plan->steps.size() : 1;
  operation->units.resize(steps, Unit{});
  operation->left = steps;
  for (unsigned i = 0; i < steps; ++i) {
    Unit& unit = operation->units[i];
    unit.operation = operation.get();
    unit.step = i;
    unit.work = operation->plan ? &operation->plan->steps[i].work : &operation->work;
    unit.before = operation->plan ? operation->plan->steps[i].before : 0;
    if (const auto* record = as<RecordWork>(*unit.work)) unit.mark = record->mark;
  }
  for (auto& [step, mark] : operation->marks) operation->units[step].mark = std::move(mark);
  for (const Unit& unit : operation->units) {
    if (!unit.mark || as<RecordWork>(*unit.work) == nullptr) continue;
    unit.mark->stream = stream.weak_from_this();
    unit.mark->number = operation->number;
  }
  const Nanos at = operation->enqueued;
  const bool first = stream.queue.empty();
  if (operation->takes_place()) ++stream.places;
  stream.queue.push_back(std::move(operation));
  if (!first) return;  // it begins when the operations before it are done
  stream.context->root->active.push_back(&stream);
  pump(at);
  rethink();
}

void Engine::pump(Nanos at) {
  do {
    poll_parked(at);
    advance_all();
    stop_where_asked(at);
    for (Context* context : contexts_) schedule(*context, at);
    meet();
  } while (play_next(at));
  for (Context* context : contexts_) {
    if (at >= context->counted + kPublish) count_busy(*context, at);
  }
  wake_waiters();
}

// Handles the earliest event that is due; false: none is.
bool Engine::play_next(Nanos at) {
  Nanos earliest = kNever;
  Context* owner = nullptr;
  Unit* kernel = nullptr;
  CopyEngine* copier = nullptr;
  for (Context* context : contexts_) {
    if (!mps_ && !context->holds_turn) continue;
    for (Unit* unit : context->running) {
      if (unit->end < earliest) earliest = unit->end, kernel = unit, owner = context;
    }
  }
  for (auto& device : copiers_) {
    for (CopyEngine& engine : device) {
      if (engine.queue.empty() || !engine.queue.front()->moved || engine.queue.front()->end >= earliest) continue;
      earliest = engine.queue.front()->end, kernel = nullptr, copier = &engine;
    }
  }
  for (Context* context : contexts_) {
    const Nanos slice = slice_event(*context);
    if (slice < earliest) earliest = slice, kernel = nullptr, copier = nullptr, owner = context;
  }
  if (earliest > at) return false;
  if (kernel != nullptr && as<KernelWork>(*kernel->work)->meeting != nullptr && kernel->phase == 0) {
    kernel->remaining = 0;
    arrive(*kernel, 1, kernel->end);
  } else if (kernel != nullptr) {
    end_kernel(*owner, *kernel);
  } else if (copier != nullptr) {
    Unit& unit = *copier->queue.front();
    copier->queue.pop_front();
    copier->free = unit.end;
    start_copy(*copier);
    finish(unit, unit.end);
  } else {
    freeze(*owner, earliest);
    region_.context(owner->device, owner->slot).runnable_since = earliest;
    pass_turn(region_, owner->device, owner->slot, earliest);
  }
  return true;
}

Nanos Engine::next_event(Nanos at) {
  Nanos next = trace_.due_at();
  for (Context* context : contexts_) {
    const bool runs = mps_ || context->holds_turn;
    if (runs) {
      for (const Unit* unit : context->running) {
        next = std::min(next, unit->end);
        if (unit->apart) next = std::min(next, at + kMeetEvery);
        // Nothing signals that a flag was set.
        if (as<KernelWork>(*unit->work)->resumable.flag != 0) next = std::min(next, at + kFlagEvery);
      }
      if (!context->running.empty()) next = std::min(next, at + kPublish);
      next = std::min(next, slice_event(*context));
    } else if (!context->running.empty() || !context->pending.empty()) {
      next = std::min(next, context->ask_again);
    }
    if (mps_ && !context->pending.empty()) next = std::min(next, at + 2 * kMilli);
  }
  for (auto& device : copiers_) {
    for (CopyEngine& engine : device) {
      if (!engine.queue.empty() && engine.queue.front()->moved) next = std::min(next, engine.queue.front()->end);
    }
  }
  if (std::any_of(parked_.begin(), parked_.end(),
                  [](const Unit* unit) { return as<WordsWork>(*unit->work) != nullptr; })) {
    // A word may change at any time without a signal: look often at first, then less and less often.
    const Nanos waited = at - parked_since_;
    next = std::min(next, at + (waited < 5 * kMilli     ? 25 * kMicro
                                : waited < 100 * kMilli ? 100 * kMicro
                                                        : 250 * kMicro));
  }
  return next;
}

void Engine::remove(Context* context) {
  const auto is_of_context = [&](const Unit* unit) { return unit->operation->stream->context->root == context; };
  const auto drop = [&](auto& list) {
    list.erase(std::remove_if(list.begin(), list.end(), is_of_context), list.end());
  };
  std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
  drop(helper_queue_);
  while (helping_ != nullptr && is_of_context(helping_)) helped_.wait(lock);
  lock.release();  // still held, by the caller
  drop(parked_);
  for (auto& device : copiers_) {
    for (CopyEngine& engine : device) {
      const Unit* front = engine.queue.empty() ? nullptr : engine.queue.front();
      drop(engine.queue);
      if (!engine.queue.empty() && engine.queue.front() != front) start_copy(engine);
    }
  }
  for (Unit* unit : context->running) unit->end = now();
  if (mps_) region_.context(context->device, context->slot).sms_held = 0;
  context->running.clear();
  context->pending.clear();
  for (const auto& stream : context->streams) {
    stream->queue.clear();
    stream->places = 0;
    stream->completed = stream->submitted;
    stream->context->sm_in_use = 0;
  }
  context->active.clear();
  contexts_.erase(std::remove(contexts_.begin(), contexts_.end(), context), contexts_.end());
  region_.release_context(context->device, context->slot);
  wake_waiters();
}

}  // namespace cotenant::soft
