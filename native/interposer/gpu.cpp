#include "interposer/gpu.h"

#include <pthread.h>

#include <cstring>
#include <new>

#include "interposer/entry.h"
#include "interposer/keeper.h"

namespace cotenant {
namespace {

using namespace cu;

constexpr std::uint32_t kGpus = 16;
constexpr std::uint32_t kContexts = 64;
constexpr std::uint32_t kTable = 4096;  // open addressing over streams; a power of two

// Handles 0 to 2 have a meaning; per-thread streams are told apart by the address of a thread's own byte.
constexpr std::uintptr_t kLegacyKey = 1;
thread_local char own_thread;

// Megabytes, of which a process must touch only what it uses: no code may run to make them.
__constinit Gpu gpus[kGpus];
__constinit Context contexts[kContexts];
__constinit Stream streams[kStreams];
std::atomic<Stream*> table[kTable];
std::atomic<std::uint32_t> gpus_used{0};
std::atomic<std::uint32_t> contexts_used{0};
std::atomic<std::uint32_t> streams_used{0};
std::atomic<std::uint32_t> unhooked{0};
Spin growing;
pthread_mutex_t attaching = PTHREAD_MUTEX_INITIALIZER;

thread_local Stream* latest = nullptr;
thread_local std::uintptr_t latest_key = 0;
thread_local CUcontext latest_context = nullptr;

std::uint32_t slot_of(std::uintptr_t key, const Context* context) noexcept {
  const std::uint64_t mixed = (key ^ reinterpret_cast<std::uintptr_t>(context)) * 0x9e3779b97f4a7c15ull;
  return static_cast<std::uint32_t>(mixed >> 40) & (kTable - 1);
}

Stream* look_up(std::uintptr_t key, const Context* context) noexcept {
  for (std::uint32_t i = slot_of(key, context), tries = 0; tries < kTable; i = (i + 1) & (kTable - 1), ++tries) {
    Stream* found = table[i].load(std::memory_order_acquire);
    if (!found) return nullptr;
    if (found->key.load(std::memory_order_relaxed) == key && (!context || found->context == context)) return found;
  }
  return nullptr;
}

// Real handles are unique in the process: they hash and compare without their context.
Stream* add(std::uintptr_t key, CUstream handle, Context& context, bool special, bool blocking) noexcept {
  const Context* hashed = special ? &context : nullptr;
  Locked lock(growing);
  if (Stream* found = look_up(key, hashed)) return found;
  const std::uint32_t index = streams_used.load(std::memory_order_relaxed);
  if (index == kStreams) return nullptr;
  Stream& stream = streams[index];
  stream.handle = handle;
  stream.context = &context;
  stream.blocking = blocking;
  stream.index = index;
  stream.key.store(key, std::memory_order_relaxed);
  streams_used.store(index + 1, std::memory_order_release);
  if (blocking) context.blocking_streams.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t at = slot_of(key, hashed);
  while (table[at].load(std::memory_order_relaxed)) at = (at + 1) & (kTable - 1);
  table[at].store(&stream, std::memory_order_release);
  return &stream;
}

Stream* special_stream(std::uintptr_t key, CUstream handle) noexcept {
  CUcontext current = nullptr;
  if (real().cuCtxGetCurrent(&current) != CUDA_SUCCESS || !current) return nullptr;
  if (latest && latest_key == key && latest_context == current) return latest;
  Context* context = current_context();
  if (!context) return nullptr;
  Stream* found = look_up(key, context);
  if (!found) found = add(key, handle, *context, true, true);
  if (found && key == kLegacyKey) context->legacy.store(found, std::memory_order_release);
  latest = found;
  latest_key = key;
  latest_context = current;
  return found;
}

Stream* real_stream(CUstream handle) noexcept {
  const auto key = reinterpret_cast<std::uintptr_t>(handle);
  if (latest && latest_key == key && latest->key.load(std::memory_order_relaxed) == key) return latest;
  Stream* found = look_up(key, nullptr);
  if (!found) {
    CUcontext owner = nullptr;
    unsigned flags = 0;
    if (real().cuStreamGetCtx(handle, &owner) != CUDA_SUCCESS) return nullptr;
    Context* context = context_of(owner);
    if (!context) context = current_context();
    if (!context || real().cuStreamGetFlags(handle, &flags) != CUDA_SUCCESS) return nullptr;
    found = add(key, handle, *context, false, (flags & CU_STREAM_NON_BLOCKING) == 0);
  }
  latest = found;
  latest_key = key;
  latest_context = nullptr;
  return found;
}

Gpu* gpu_of_device(CUdevice device) noexcept {
  for (std::uint32_t i = 0; i < gpus_used.load(std::memory_order_acquire); ++i)
    if (gpus[i].identity.ordinal == device) return &gpus[i];
  return nullptr;
}

GpuIdentity identify(CUdevice device) noexcept {
  GpuIdentity identity{};
  identity.ordinal = device;
  CUuuid uuid{};
  const auto ask = real().cuDeviceGetUuid_v2 ? real().cuDeviceGetUuid_v2 : real().cuDeviceGetUuid;
  if (ask && ask(&uuid, device) == CUDA_SUCCESS) std::memcpy(identity.uuid, &uuid, sizeof identity.uuid);
  if (real().cuDeviceGetName(identity.name, sizeof identity.name, device) != CUDA_SUCCESS) identity.name[0] = '\0';
  int sms = 0;
  if (real().cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) == CUDA_SUCCESS)
    identity.sm_count = static_cast<std::uint32_t>(sms);
  return identity;
}

// Attaches a GPU seen for the first time. A best-effort client without an agent gets a private region in
// which it crawls; a high client without one simply runs.
CUresult attach_gpu(Gpu& gpu) noexcept {
  const Attachment attachment = attach(gpu.identity);
  switch (attachment.outcome) {
    case AttachOutcome::kAttached:
      if (role() == Role::kBestEffort) best_effort_enter(*attachment.link);
      gpu.link.store(attachment.link, std::memory_order_release);
      return CUDA_SUCCESS;
    case AttachOutcome::kRefused:
      tell("the agent refuses this %s client: %s", role() == Role::kHigh ? "high" : "best-effort", attachment.reason);
      return role() == Role::kHigh ? CUDA_SUCCESS : CUDA_ERROR_NOT_PERMITTED;
    case AttachOutcome::kNoAgent:
      if (role() == Role::kHigh) {
        tell("no agent answers at \"%s\": this high client runs unprotected. Start one with `cotenant up`.",
             environment().socket);
        return CUDA_SUCCESS;
      }
      tell("no agent answers at \"%s\": best-effort work runs at a trickle until one does. Start one with `cotenant up`.",
           environment().socket);
      gpu.link.store(private_link(), std::memory_order_release);
      return CUDA_SUCCESS;
  }
  return CUDA_SUCCESS;
}

// Null when there are more GPUs than we keep books on; such a one is left alone.
Gpu* add_gpu(CUdevice device) noexcept {
  const std::uint32_t index = gpus_used.load(std::memory_order_relaxed);
  if (index == kGpus) return nullptr;
  gpus[index].identity = identify(device);
  gpus_used.store(index + 1, std::memory_order_release);
  return &gpus[index];
}

Context* add_context(CUcontext handle, Gpu& gpu) noexcept {
  Locked lock(growing);
  if (Context* known = context_of(handle)) {
    known->gpu = &gpu;
    return known;
  }
  const std::uint32_t index = contexts_used.load(std::memory_order_relaxed);
  if (index == kContexts) return nullptr;
  contexts[index].gpu = &gpu;
  contexts[index].handle.store(handle, std::memory_order_release);
  contexts_used.store(index + 1, std::memory_order_release);
  return &contexts[index];
}

}  // namespace

Stream* stream_of(CUstream handle, NullStream meaning) noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value > 2) return real_stream(handle);
  const bool per_thread = value == 2 || (value == 0 && meaning == NullStream::kPerThread);
  return per_thread ? special_stream(reinterpret_cast<std::uintptr_t>(&own_thread), stream_per_thread())
                    : special_stream(kLegacyKey, stream_legacy());
}

Stream* legacy_stream() noexcept { return special_stream(kLegacyKey, stream_legacy()); }

bool is_special(const Stream& stream) noexcept { return reinterpret_cast<std::uintptr_t>(stream.handle) <= 2; }

bool own_special(const Stream& stream) noexcept {
  const std::uintptr_t key = stream.key.load(std::memory_order_relaxed);
  return key == kLegacyKey || key == reinterpret_cast<std::uintptr_t>(&own_thread);
}

std::uint32_t stream_count() noexcept { return streams_used.load(std::memory_order_acquire); }
Stream& stream_at(std::uint32_t index) noexcept { return streams[index]; }

void forget_stream(CUstream handle) noexcept {
  const auto key = reinterpret_cast<std::uintptr_t>(handle);
  Stream* found = key > 2 ? look_up(key, nullptr) : nullptr;
  if (!found) return;
  // The entry stays in its place under a key that no handle has, so that the chain of the table holds.
  high_observe(*found, found->high.begun.load(std::memory_order_relaxed));
  best_effort_drained(*found);
  if (found->blocking) found->context->blocking_streams.fetch_sub(1, std::memory_order_relaxed);
  found->key.store(0, std::memory_order_relaxed);
}

Context* context_of(CUcontext handle) noexcept {
  for (std::uint32_t i = 0; i < contexts_used.load(std::memory_order_acquire); ++i)
    if (contexts[i].handle.load(std::memory_order_relaxed) == handle) return &contexts[i];
  return nullptr;
}

Context* current_context() noexcept {
  CUcontext handle = nullptr;
  if (!real().cuCtxGetCurrent || real().cuCtxGetCurrent(&handle) != CUDA_SUCCESS || !handle) return nullptr;
  if (Context* known = context_of(handle)) return known;
  CUdevice device = 0;
  if (real().cuCtxGetDevice(&device) != CUDA_SUCCESS) return nullptr;
  if (context_made(handle, device) != CUDA_SUCCESS) return nullptr;
  return context_of(handle);
}

CUresult may_use(CUdevice device) noexcept {
  if (role() != Role::kBestEffort) return CUDA_SUCCESS;
  const std::uint32_t used = gpus_used.load(std::memory_order_acquire);
  if (used == 0 || gpu_of_device(device)) return CUDA_SUCCESS;
  tell("a best-effort process on several GPUs is refused for now: one paused rank would leave the others spinning. "
       "It already uses GPU %d; set CUDA_VISIBLE_DEVICES to one GPU.", gpus[0].identity.ordinal);
  return CUDA_ERROR_NOT_PERMITTED;
}

CUresult context_made(CUcontext handle, CUdevice device) noexcept {
  // Saying hello takes a moment; two threads that make the first context together must not both do it,
  // and neither may go on as if nobody had to be asked.
  pthread_mutex_lock(&attaching);
  Gpu* gpu = gpu_of_device(device);
  const bool first = !gpu;
  if (first) gpu = add_gpu(device);
  // A best-effort client that was refused asks again: without a slot it gets no context.
  const bool ask = gpu && (first || (role() == Role::kBestEffort && !gpu->link.load(std::memory_order_relaxed)));
  const CUresult result = ask ? attach_gpu(*gpu) : CUDA_SUCCESS;
  pthread_mutex_unlock(&attaching);
  if (result != CUDA_SUCCESS || !gpu) return result;
  start_keeper();
  add_context(handle, *gpu);
  return CUDA_SUCCESS;
}

void context_ends(CUcontext handle) noexcept {
  Context* context = context_of(handle);
  if (!context) return;
  if (const Link* link = context->gpu->link.load(std::memory_order_acquire); link && role() == Role::kBestEffort)
    best_effort_open(*link);  // destroying waits for what is parked
  for (std::uint32_t i = 0; i < stream_count(); ++i)
    if (streams[i].context == context && streams[i].key.load(std::memory_order_relaxed) > 2)
      forget_stream(streams[i].handle);
  context->mapping.of.store(nullptr, std::memory_order_release);
  context->tail_page.store(nullptr, std::memory_order_release);
}

void primary_ended(CUdevice device) noexcept {
  for (std::uint32_t i = 0; i < contexts_used.load(std::memory_order_acquire); ++i)
    if (contexts[i].gpu->identity.ordinal == device) context_ends(contexts[i].handle.load(std::memory_order_relaxed));
}

void note_unhooked(const char* name, int version) noexcept {
  if (environment().debug) tell("%s (CUDA %d) is not replaced", name, version);
  unhooked.fetch_add(1, std::memory_order_relaxed);
}

std::uint32_t unhooked_count() noexcept { return unhooked.load(std::memory_order_relaxed); }

std::uint32_t gpu_count() noexcept { return gpus_used.load(std::memory_order_acquire); }
Gpu& gpu_at(std::uint32_t index) noexcept { return gpus[index]; }

void forget_gpus() noexcept {
  // The parent's links: its sockets must not be kept open by us, or its death would go unnoticed.
  for (std::uint32_t i = 0; i < gpus_used.load(std::memory_order_relaxed); ++i) {
    if (Link* link = gpus[i].link.load(std::memory_order_relaxed)) drop_in_child(*link);
    new (&gpus[i]) Gpu{};
  }
  for (std::uint32_t i = 0; i < contexts_used.load(std::memory_order_relaxed); ++i) new (&contexts[i]) Context{};
  for (std::uint32_t i = 0; i < streams_used.load(std::memory_order_relaxed); ++i) new (&streams[i]) Stream{};
  for (auto& entry : table) entry.store(nullptr, std::memory_order_relaxed);
  gpus_used.store(0, std::memory_order_relaxed);
  contexts_used.store(0, std::memory_order_relaxed);
  streams_used.store(0, std::memory_order_relaxed);
  latest = nullptr;
  growing.unlock();
  pthread_mutex_init(&attaching, nullptr);  // a thread of the parent may have held it
  forget_keeper();
}

}  // namespace cotenant
