// Streams: the operation at the head of a queue begins, its units go to where they run, and it completes.
#include <algorithm>

#include "softgpu/engine/engine.h"

namespace cotenant::soft {

void Engine::advance_all() {
  for (bool any = true; any;) {
    any = false;
    for (Context* context : contexts_) {
      for (std::size_t i = 0; i < context->active.size(); ++i) any |= advance(*context->active[i]);
      retire(*context);
    }
  }
}

// Removes empty streams from the active ones, and deletes detached ones.
void Engine::retire(Context& context) {
  auto& active = context.active;
  for (std::size_t i = 0; i < active.size();) {
    Stream* stream = active[i];
    if (!stream->queue.empty()) {
      ++i;
      continue;
    }
    active[i] = active.back();
    active.pop_back();
    if (!stream->detached) continue;
    auto& all = context.streams;
    all.erase(std::remove_if(all.begin(), all.end(), [&](const auto& other) { return other.get() == stream; }),
              all.end());
  }
}

// Begins the operation at the head of the queue and removes it when it is done; true: something changed.
bool Engine::advance(Stream& stream) {
  bool moved = false;
  while (!stream.queue.empty()) {
    Operation& head = *stream.queue.front();
    if (!head.begun) {
      Nanos ready = std::max(stream.ready, head.enqueued);
      for (const Ticket& ticket : head.after) {
        if (!ticket.is_complete()) return moved;
        if (ticket.stream) ready = std::max(ready, ticket.stream->ready);
      }
      head.begun = true;
      head.after.clear();
      moved = true;
      begin(head, ready);
    }
    if (head.left > 0) return moved;
    stream.ready = head.end;
    stream.completed = head.number;
    if (head.plan) trace_.line(head.enqueued, head.end, stream.id, "graph", head.name);
    if (head.takes_place()) --stream.places;
    stream.queue.pop_front();
    moved = true;
  }
  return moved;
}

void Engine::begin(Operation& operation, Nanos ready) {
  operation.end = ready;
  for (Unit& unit : operation.units) unit.ready = ready;
  for (Unit& unit : operation.units) {
    if (unit.before == 0 && unit.state == Unit::State::waiting) begin(unit);
  }
}

void Engine::begin(Unit& unit) {
  unit.begin = unit.ready;
  unit.state = Unit::State::pending;
  const bool enabled = !unit.operation->plan || unit.operation->plan->steps[unit.step].enabled;
  Context& root = *unit.operation->stream->context->root;
  if (!enabled || as<std::monostate>(*unit.work)) {
    finish(unit, unit.ready);
  } else if (as<KernelWork>(*unit.work)) {
    queue_kernel(root, unit);
  } else if (const auto* copy = as<CopyWork>(*unit.work)) {
    queue_copy(unit, root.device, copy->direction);
  } else if (as<FillWork>(*unit.work)) {
    queue_copy(unit, root.device, Direction::on_device);
  } else if (as<HostWork>(*unit.work)) {
    unit.state = Unit::State::calling;
    to_helper(unit);
  } else {
    poll(unit, unit.ready);
  }
}

void Engine::finish(Unit& unit, Nanos end) {
  static const char* const kinds[] = {"nothing", "kernel", "copy",  "fill",   "host",
                                      "record",  "await",  "words", "release"};
  unit.state = Unit::State::done;
  unit.end = end;
  Operation& operation = *unit.operation;
  const auto* kernel = as<KernelWork>(*unit.work);
  trace_.line(unit.begin, end, operation.stream->id, kinds[unit.work->index()], kernel ? kernel->name : "");
  operation.end = std::max(operation.end, end);
  --operation.left;
  if (!operation.plan) return;
  for (const unsigned next : operation.plan->steps[unit.step].next) {
    Unit& after = operation.units[next];
    after.ready = std::max(after.ready, end);
    if (--after.before == 0) begin(after);
  }
}

}  // namespace cotenant::soft
