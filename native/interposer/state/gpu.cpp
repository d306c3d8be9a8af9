#include "interposer/state/gpu.h"

#include <pthread.h>

#include <cstring>
#include <new>

#include "interposer/state/capture.h"
#include "interposer/best_effort/chunk_log.h"
#include "interposer/lookup/entry.h"
#include "interposer/lifetime/gang.h"
#include "interposer/graphs/made.h"
#include "interposer/lifetime/keeper.h"
#include "interposer/kernels/kernel_table.h"
#include "interposer/forms/variants.h"

namespace cotenant {
namespace {

using namespace cu;

constexpr std::uint32_t kGpus = 16;
constexpr std::uint32_t kContexts = 64;
// Megabytes, of which a process must touch only what it uses: no code may run to make them.
__constinit Gpu gpus[kGpus];
__constinit Context contexts[kContexts];
std::atomic<std::uint32_t> gpus_used{0};
std::atomic<std::uint32_t> contexts_used{0};
Spin growing;
pthread_mutex_t attaching = PTHREAD_MUTEX_INITIALIZER;

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

void tell_no_agent(const char* reason) noexcept {
  const bool high = role() == Role::kHigh;
  if (*reason)
    tell("the agent at \"%s\" is of no use (%s): %s. Restart it with `cotenant down` and `cotenant up`.", environment().socket, reason,
         high ? "this high client runs unprotected" : "best-effort work runs at a trickle");
  else
    tell("no agent answers at \"%s\": %s. Start one with `cotenant up`.", environment().socket,
         high ? "this high client runs unprotected" : "best-effort work runs at a trickle until one does");
}

// Attaches a GPU seen for the first time. A best-effort client without an agent gets a private region in
// which it crawls; a high client without one simply runs.
CUresult attach_gpu(Gpu& gpu) noexcept {
  open_kernel_table(gpu.identity.name);
  const Attachment attachment = attach(gpu.identity);
  switch (attachment.outcome) {
    case AttachOutcome::kAttached:
      if (role() == Role::kBestEffort) best_effort_enter(*attachment.link);
      gpu.link.store(attachment.link, std::memory_order_release);
      chunk_log::start(gpu);
      return CUDA_SUCCESS;
    case AttachOutcome::kRefused:
      tell("the agent refuses this %s client: %s", role() == Role::kHigh ? "high" : "best-effort", attachment.reason);
      return role() == Role::kHigh ? CUDA_SUCCESS : CUDA_ERROR_NOT_PERMITTED;
    case AttachOutcome::kNoAgent:
      tell_no_agent(attachment.reason);
      if (role() == Role::kHigh) return CUDA_SUCCESS;
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

// The driver may hand out a handle again, and a program may make contexts for ever: entries of ended ones
// are used again.
Context* add_context(CUcontext handle, Gpu& gpu) noexcept {
  Locked lock(growing);
  Context* context = context_of(handle);
  const std::uint32_t used = contexts_used.load(std::memory_order_relaxed);
  if (!context && used < kContexts) context = &contexts[used];
  for (std::uint32_t i = 0; !context && i < used; ++i)
    if (contexts[i].ended.load(std::memory_order_relaxed)) context = &contexts[i];
  if (!context) return nullptr;
  if (context == &contexts[used] || context->ended.load(std::memory_order_relaxed)) context->primary.store(false, std::memory_order_relaxed);
  if (context->gpu != &gpu) context->gpu = &gpu;  // the helper thread may be looking at streams of the ended one
  context->handle.store(handle, std::memory_order_release);
  context->ended.store(false, std::memory_order_release);
  if (context == &contexts[used]) contexts_used.store(used + 1, std::memory_order_release);
  return context;
}

}  // namespace

Gpu* gpu_of_device(CUdevice device) noexcept {
  for (std::uint32_t i = 0; i < gpus_used.load(std::memory_order_acquire); ++i)
    if (gpus[i].identity.ordinal == device) return &gpus[i];
  return nullptr;
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

CUresult context_made(CUcontext handle, CUdevice device) noexcept {
  // Saying hello takes a moment; two threads that make the first context together must not both do it,
  // and neither may go on as if nobody had to be asked.
  pthread_mutex_lock(&attaching);
  Gpu* gpu = gpu_of_device(device);
  const bool first = !gpu;
  if (first) gpu = add_gpu(device);
  const bool best_effort = role() == Role::kBestEffort;
  // A best-effort client that was refused asks again: without a slot it gets no context.
  const bool ask = gpu && (best_effort ? gpu == &gpus[0] && !gpu->link.load(std::memory_order_relaxed) : first);
  const CUresult result = ask ? attach_gpu(*gpu) : CUDA_SUCCESS;
  pthread_mutex_unlock(&attaching);
  if (result != CUDA_SUCCESS || !gpu) return result;
  start_keeper();
  add_context(handle, *gpu);
  if (first && !best_effort && gpu == &gpus[1]) {
    note_caveat(protocol::Caveat::kGpus);
    tell("a high client on several GPUs is protected on each by itself: where a request needs them all, best-effort work "
         "beside one of them makes it wait.");
  }
  return CUDA_SUCCESS;
}

CUresult attach_own_gpu(Gpu& gpu) noexcept {
  if (gpu.link.load(std::memory_order_acquire)) return CUDA_SUCCESS;
  pthread_mutex_lock(&attaching);
  const CUresult result = gpu.link.load(std::memory_order_relaxed) ? CUDA_SUCCESS : attach_gpu(gpu);
  pthread_mutex_unlock(&attaching);
  return result;
}

Gpu* gpu_at_work() noexcept {
  Gpu* own = own_gpu.load(std::memory_order_acquire);
  return own || gpu_count() == 0 ? own : &gpus[0];
}

const Link* own_link() noexcept {
  const Gpu* gpu = gpu_at_work();
  return gpu ? gpu->link.load(std::memory_order_acquire) : nullptr;
}

void context_ends(CUcontext handle) noexcept {
  Context* context = context_of(handle);
  if (!context) return;
  if (const Link* link = context->gpu->link.load(std::memory_order_acquire); link && role() == Role::kBestEffort)
    best_effort_open(*link);  // destroying waits for what is parked
  forget_streams_of(*context);
  forget_variants_in(handle);
  forget_graphs_in(*context);
  context->gpu->best_effort.estimates.context_ends(handle);
  pages_end(context->pages);
  context->legacy.store(nullptr, std::memory_order_release);
  context->tail_device.store(0, std::memory_order_release);
  context->ended.store(true, std::memory_order_release);
}

void primary_retained(CUcontext handle) noexcept {
  if (Context* context = context_of(handle)) context->primary.store(true, std::memory_order_relaxed);
}

CUcontext primary_context(CUdevice device) noexcept {
  for (std::uint32_t i = 0; i < contexts_used.load(std::memory_order_acquire); ++i)
    if (contexts[i].primary.load(std::memory_order_relaxed) && !contexts[i].ended.load(std::memory_order_relaxed) &&
        contexts[i].gpu->identity.ordinal == device)
      return contexts[i].handle.load(std::memory_order_relaxed);
  return nullptr;
}

void primary_ended(CUdevice device) noexcept {
  if (const CUcontext primary = primary_context(device)) context_ends(primary);
}

std::uint32_t gpu_count() noexcept { return gpus_used.load(std::memory_order_acquire); }
Gpu& gpu_at(std::uint32_t index) noexcept { return gpus[index]; }

void forget_gpus() noexcept {
  // The parent's links: its sockets must not be kept open by us, or its death would go unnoticed.
  for (std::uint32_t i = 0; i < gpus_used.load(std::memory_order_relaxed); ++i) {
    if (Link* link = gpus[i].link.load(std::memory_order_relaxed)) drop_in_child(*link);
    forget(gpus[i].knock);
    new (&gpus[i]) Gpu{};
  }
  for (std::uint32_t i = 0; i < contexts_used.load(std::memory_order_relaxed); ++i) new (&contexts[i]) Context{};
  forget_streams();
  forget_captures();
  forget_graphs();
  forget_gang();
  gpus_used.store(0, std::memory_order_relaxed);
  contexts_used.store(0, std::memory_order_relaxed);
  growing.unlock();
  pthread_mutex_init(&attaching, nullptr);  // a thread of the parent may have held it
  forget_keeper();
}

}  // namespace cotenant
