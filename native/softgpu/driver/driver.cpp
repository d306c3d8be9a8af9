// The driver object, the guard of every call, and the creation and destruction of contexts and streams.
#include "softgpu/driver/driver.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <set>

#include "softgpu/runtime/storage.h"

namespace cotenant::soft {

Driver::Driver() : memory(region), engine(mutex, region) {}

Driver& driver() {
  static Driver* one = new Driver;
  return *one;
}

Memory& memory() { return driver().memory; }

namespace {

thread_local ThreadState* own_state = nullptr;

struct StateOwner {
  ~StateOwner() {
    delete own_state;
    own_state = nullptr;
  }
  void begin() {}
};

}  // namespace

// The runtime calls the driver from exit handlers, when what is local to a thread is gone. Then it begins again.
ThreadState& thread_state() {
  if (own_state == nullptr) {
    static thread_local StateOwner owner;
    owner.begin();
    own_state = new ThreadState;
  }
  return *own_state;
}

const char* intern(const std::string& text) {
  static auto* texts = new std::set<std::string>;
  return texts->insert(text).first->c_str();
}

namespace {

// Frees this process's share of the devices at once, instead of when another process notices that it is gone. The wait for
// the mutex is bounded, because a thread that died with it must not keep the process from exiting.
__attribute__((destructor)) void leave() {
  Driver& d = driver();
  if (!d.initialised || d.forked) return;
  const Nanos deadline = now() + 100 * kMilli;
  while (!d.mutex.try_lock()) {
    if (now() > deadline) return;
    const timespec pause{0, long(100 * kMicro)};
    nanosleep(&pause, nullptr);
  }
  d.exiting = true;
  d.runs.notify_all();
  d.engine.trace().flush();
  d.region.leave();
  d.mutex.unlock();
}

}  // namespace

Call::Call(Needs needs) : d(driver()) {
  if (d.forked) {  // before the mutex: another thread of the parent may have held it
    error = CUDA_ERROR_NOT_INITIALIZED;
    return;
  }
  lock = std::unique_lock<std::mutex>(d.mutex);
  if (needs == Needs::nothing) return;
  wait_while_locked();
  if (d.exiting) error = CUDA_ERROR_DEINITIALIZED;
  else if (!d.initialised) error = CUDA_ERROR_NOT_INITIALIZED;
  else if (thread_state().in_callback) error = CUDA_ERROR_NOT_PERMITTED;
  if (error != CUDA_SUCCESS) return;
  const auto& stack = thread_state().stack;
  if (!stack.empty()) context = stack.back();
  if (needs != Needs::context) return;
  if (context == nullptr) error = CUDA_ERROR_INVALID_CONTEXT;
  else if (!context->alive) error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

void Call::wait_while_locked() {
  while (d.process_state != CU_PROCESS_STATE_RUNNING && !d.exiting) d.runs.wait(lock);
}

Stream* Call::stream(CUstream handle) {
  const bool per_thread = handle == stream_per_thread() || (handle == nullptr && thread_state().per_thread_stream);
  if (handle == nullptr || handle == stream_legacy() || per_thread) {
    if (context == nullptr) {
      error = CUDA_ERROR_INVALID_CONTEXT;
      return nullptr;
    }
    Context& root = *context->root;
    if (!per_thread) return root.legacy.get();
    std::shared_ptr<Stream>& own = root.per_thread[std::this_thread::get_id()];
    if (!own) own = make_stream(d, root, CU_STREAM_DEFAULT, 0);
    return own.get();
  }
  const auto found = d.streams.find(handle);
  if (found == d.streams.end()) {
    error = CUDA_ERROR_INVALID_HANDLE;
    return nullptr;
  }
  return found->second.get();
}

Stream* Call::stream_with_room(CUstream handle) {
  for (;;) {
    Stream* found = stream(handle);
    if (found == nullptr || found->capture || found->places <= d.settings.queue) return found;
    const auto first = std::find_if(found->queue.begin(), found->queue.end(),
                                    [](const auto& operation) { return operation->takes_place(); });
    wait({{found->shared_from_this(), (*first)->number}});
    // Meanwhile other threads went on: the stream or the context may be gone.
    if (context != nullptr && !context->alive) error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (error != CUDA_SUCCESS) return nullptr;
  }
}

std::shared_ptr<Stream> make_stream(Driver& d, Context& context, unsigned flags, int priority) {
  auto made = std::make_shared<Stream>();
  made->context = &context;
  made->handle = reinterpret_cast<CUstream>(made.get());
  made->id = ++d.ids;
  made->flags = flags;
  made->priority = std::clamp(priority, -5, 0);
  made->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  context.root->streams.push_back(made);
  return made;
}

Context* make_context(Driver& d, unsigned device, unsigned flags, unsigned api_version, CUresult& error,
                      Context* place) {
  const int slot = d.region.claim_context(device);
  if (slot < 0) {
    error = CUDA_ERROR_OUT_OF_MEMORY;
    return nullptr;
  }
  auto* context = place == nullptr ? new Context : place;
  if (place != nullptr) *context = Context{};
  context->root = context;
  context->device = device;
  context->slot = unsigned(slot);
  context->flags = flags;
  context->api_version = api_version;
  context->id = ++d.ids;
  const unsigned percentage = d.settings.thread_percentage;
  if (percentage < 100) context->sm_limit = (d.region.device(device).sms.load() * percentage + 99) / 100;
  context->legacy = make_stream(d, *context, CU_STREAM_DEFAULT, 0);
  context->legacy->legacy = true;
  context->legacy->handle = nullptr;
  d.contexts.insert(context);
  d.engine.add(context);
  d.engine.start(d.settings);
  return context;
}

namespace {

bool busy(const Context& context) {
  return std::any_of(context.streams.begin(), context.streams.end(),
                     [](const auto& stream) { return !stream->is_idle(); });
}

}  // namespace

// Waits for all submitted work, also for work that waits for a word that may never be written, as an H200 does.
void destroy_context(Call& call, Context* context) {
  Driver& d = call.d;
  for (d.engine.pump(now()); context->alive && busy(*context); d.engine.pump(now())) {
    call.lock.unlock();
    const timespec pause{0, long(100 * kMicro)};
    nanosleep(&pause, nullptr);
    call.lock.lock();
  }
  if (!context->alive) return;  // another thread was faster
  context->alive = false;
  d.engine.remove(context);
  d.memory.release_all(context);
  for (auto at = d.streams.begin(); at != d.streams.end();) {
    at = at->second->context->root == context ? d.streams.erase(at) : std::next(at);
  }
  std::vector<Module*> modules;
  for (const auto& [module, owned] : d.modules) {
    if (module->context == context) modules.push_back(module);
  }
  for (Module* module : modules) unload_module(module);
  for (const auto& [green, owned] : d.greens) {
    if (green->context->root == context) green->context->alive = false;
  }
  context->streams.clear();
  context->per_thread.clear();
  call.lock.unlock();
  runtime::forget_all(reinterpret_cast<CUcontext>(context));  // may call the driver
  call.lock.lock();
}

std::vector<Ticket> everything(Context& root) {
  std::vector<Ticket> tickets;
  for (const auto& stream : root.streams) {
    if (!stream->is_idle()) tickets.push_back(stream->last());
  }
  return tickets;
}

std::vector<Ticket> everything(Stream& stream) {
  std::vector<Ticket> tickets{stream.last()};
  if (!stream.legacy) return tickets;
  for (const auto& other : stream.context->streams) {
    if (other->blocking && !other->is_idle()) tickets.push_back(other->last());
  }
  return tickets;
}

namespace {

// Adds the order that the legacy stream imposes: its work follows that of all blocking streams, and theirs follows its.
std::vector<Ticket> with_implied_tickets(Stream& stream, std::vector<Ticket> after) {
  Context& root = *stream.context->root;
  if (stream.legacy) {
    for (const auto& other : root.streams) {
      if (other.get() != &stream && other->blocking && !other->is_idle()) after.push_back(other->last());
    }
  } else if (stream.blocking && !root.legacy->is_idle()) {
    after.push_back(root.legacy->last());
  }
  return after;
}

}  // namespace

void enqueue(Driver& d, Stream& stream, Work work, std::vector<Ticket> after) {
  auto operation = std::make_unique<Operation>();
  operation->work = std::move(work);
  operation->after = with_implied_tickets(stream, std::move(after));
  d.engine.enqueue(stream, std::move(operation));
}

void enqueue_plan(Driver& d, Stream& stream, std::shared_ptr<const Plan> plan, const char* name, Ticket after) {
  auto operation = std::make_unique<Operation>();
  operation->after = with_implied_tickets(stream, {std::move(after)});
  for (unsigned i = 0; i < plan->steps.size(); ++i) {
    if (const auto* record = as<RecordWork>(plan->steps[i].work)) {
      auto mark = std::make_shared<Mark>();
      if (d.events.count(object<Event>(record->event)) != 0) object<Event>(record->event)->mark = mark;
      operation->marks.emplace_back(i, std::move(mark));
    } else if (const auto* await = as<AwaitWork>(plan->steps[i].work)) {
      if (d.events.count(object<Event>(await->event)) != 0)
        operation->marks.emplace_back(i, object<Event>(await->event)->mark);
    }
  }
  operation->plan = std::move(plan);
  operation->name = name;
  d.engine.enqueue(stream, std::move(operation));
}

}  // namespace cotenant::soft
