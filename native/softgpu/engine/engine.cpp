// Queues, completions and the two threads. What a kernel or a copy needs is in schedule.cpp and perform.cpp.
#include "softgpu/engine/engine.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "softgpu/device/turn.h"

namespace cotenant::soft {
namespace {

constexpr Nanos kFlagEvery = 25 * kMicro;
constexpr Nanos kSpin = 60 * kMicro;    // before a deadline somebody waits for, sleeping is too coarse
constexpr Nanos kPace = 20 * kMicro;    // the engine's thread does not wake more often
constexpr Nanos kBackup = 200 * kMicro; // how much later it wakes when a waiter means to pump itself
constexpr Nanos kPublish = 100 * kMilli;  // busy time in the shared file is never older
constexpr Nanos kRecheck = 5 * kMilli;  // a waiter that cannot tell when, looks this often

void spawn(void* (*body)(void*), void* argument) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the application's handlers run on its own threads
  pthread_t thread;
  if (pthread_create(&thread, nullptr, body, argument) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::chrono::steady_clock::time_point time_point(Nanos at) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(std::int64_t(at)));
}

}  // namespace

void Engine::start(const Settings& settings) {
  if (started_) return;
  started_ = true;
  mps_ = settings.mps;
  client_priority_ = settings.client_priority;
  trace_.open(settings.trace);
  spawn(
      [](void* self) -> void* {
        static_cast<Engine*>(self)->run();
        return nullptr;
      },
      this);
  spawn(
      [](void* self) -> void* {
        static_cast<Engine*>(self)->help();
        return nullptr;
      },
      this);
}

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
  stream.queue.push_back(std::move(operation));
  if (!first) return;  // what is before it will lead to it
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
  } while (play_next(at));
  wake_waiters();
}

void Engine::advance_all() {
  for (bool any = true; any;) {
    any = false;
    for (Context* context : contexts_) {
      for (std::size_t i = 0; i < context->active.size(); ++i) any |= advance(*context->active[i]);
      retire(*context);
    }
  }
}

// Streams with nothing left; a detached one is forgotten.
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

// Lets the head of the queue begin, and takes it off when it is done; true: something moved.
bool Engine::advance(Stream& stream) {
  bool moved = false;
  while (!stream.queue.empty()) {
    Operation& head = *stream.queue.front();
    if (!head.begun) {
      Nanos ready = std::max(stream.ready, head.enqueued);
      for (const Ticket& ticket : head.after) {
        if (!ticket.honoured()) return moved;
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

// Plays the earliest event that is due; false: none is.
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
  if (kernel != nullptr) {
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
  Nanos next = trace_.due();
  for (Context* context : contexts_) {
    const bool runs = mps_ || context->holds_turn;
    if (runs) {
      for (const Unit* unit : context->running) {
        next = std::min(next, unit->end);
        // Nobody tells when a flag goes up.
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
    // A word may change at any time and nobody tells: look often at first, then more and more rarely.
    const Nanos waited = at - parked_since_;
    next = std::min(next, at + (waited < 5 * kMilli     ? 25 * kMicro
                                : waited < 100 * kMilli ? 100 * kMicro
                                                        : 250 * kMicro));
  }
  return next;
}

// Wakes the engine's thread if it would sleep past something new.
void Engine::rethink() {
  if (sleeping_ && next_event(now()) < planned_) region_.ring(unsigned(&region_.self() - region_.shared().processes));
}

void Engine::run() {
  prctl(PR_SET_NAME, "softgpu");
  prctl(PR_SET_TIMERSLACK, 1000ul);
  std::unique_lock<std::mutex> lock(mutex_);
  std::atomic<std::uint32_t>& bell = region_.self().doorbell;
  for (;;) {
    const std::uint32_t rung = bell.load();  // before pump: a ring during it ends the sleep at once
    pump(now());
    if (trace_.due() <= now()) trace_.flush();
    const Nanos at = now();
    Nanos next = next_event(at);
    if (next != kNever) next = std::max(next, at + kPace) + (driving_ > 0 ? kBackup : 0);
    planned_ = next;
    sleeping_ = true;
    lock.unlock();
    const timespec until{time_t(next / 1'000'000'000), long(next % 1'000'000'000)};
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell), FUTEX_WAIT_BITSET, rung,
            next == kNever ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
    lock.lock();
    sleeping_ = false;
  }
}

// A bound from below on when the tickets are honoured: the kernels queued before them need their time.
Nanos Engine::earliest(const Waiter& waiter) const {
  Nanos bound = 0;
  for (const Ticket& ticket : waiter.tickets) {
    if (ticket.honoured()) continue;
    Nanos at = 0;
    for (const auto& operation : ticket.stream->queue) {
      if (operation->number > ticket.number) break;
      const Unit& unit = operation->units[0];
      const auto* kernel = as<KernelWork>(*unit.work);
      if (unit.state == Unit::State::running) at = unit.end;
      else if (kernel != nullptr && !operation->plan && at != 0) at += kernel->duration;
    }
    bound = std::max(bound, at);
  }
  return bound;
}

void Engine::wait(std::unique_lock<std::mutex>& lock, std::vector<Ticket> tickets) {
  Waiter waiter;
  waiter.tickets = std::move(tickets);
  pump(now());
  if (waiter.satisfied()) return;
  waiters_.push_back(&waiter);
  while (!waiter.satisfied()) {
    const Nanos at = now();
    const Nanos bound = earliest(waiter);
    if (bound > at) {
      ++driving_;
      if (bound > at + kSpin) waiter.woken.wait_until(lock, time_point(bound - kSpin));
      if (!waiter.satisfied()) {
        lock.unlock();
        const Nanos last = std::min(bound, now() + kSpin);
        while (now() < last) sched_yield();
        lock.lock();
      }
      --driving_;
    } else {
      rethink();
      waiter.woken.wait_until(lock, time_point(at + kRecheck));
    }
    pump(now());
  }
  waiters_.erase(std::find(waiters_.begin(), waiters_.end(), &waiter));
  rethink();
}

void Engine::wake_waiters() {
  for (Waiter* waiter : waiters_) {
    if (waiter->satisfied()) waiter->woken.notify_one();
  }
}

void Engine::remove(Context* context) {
  const auto ours = [&](const Unit* unit) { return unit->operation->stream->context->root == context; };
  const auto drop = [&](auto& list) { list.erase(std::remove_if(list.begin(), list.end(), ours), list.end()); };
  std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
  drop(helper_queue_);
  while (helping_ != nullptr && ours(helping_)) helped_.wait(lock);
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
    stream->completed = stream->submitted;
    stream->context->sm_in_use = 0;
  }
  context->active.clear();
  contexts_.erase(std::remove(contexts_.begin(), contexts_.end(), context), contexts_.end());
  region_.release_context(context->device, context->slot);
  wake_waiters();
}

}  // namespace cotenant::soft
