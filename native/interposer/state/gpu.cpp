#include "interposer/state/gpu.h"

#include <cstring>
#include <new>

#include "interposer/base/spin.h"
#include "interposer/lookup/entry.h"

namespace cotenant {
namespace {

using namespace cu;

constexpr std::uint32_t kGpus = 16;
// These take megabytes. They need no constructor, so a process touches only the pages that it uses.
__constinit Gpu gpus[kGpus]{};
__constinit Context contexts[kContexts]{};
std::atomic<std::uint32_t> gpus_used{0};
std::atomic<std::uint32_t> contexts_used{0};
Spin growing;

GpuIdentity identify(CUdevice device) noexcept {
  GpuIdentity identity{};
  identity.ordinal = device;
  CUuuid uuid{};
  const auto ask = real().cuDeviceGetUuid_v2 ? real().cuDeviceGetUuid_v2 : real().cuDeviceGetUuid;
  if (ask && ask(&uuid, device) == CUDA_SUCCESS) identity.uuid.read(&uuid);
  if (real().cuDeviceGetName(identity.name, sizeof identity.name, device) != CUDA_SUCCESS) identity.name[0] = '\0';
  int sms = 0;
  if (real().cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) == CUDA_SUCCESS)
    identity.sm_count = static_cast<std::uint32_t>(sms);
  return identity;
}

}  // namespace

std::atomic<Gpu*> own_gpu{nullptr};

namespace {

Gpu* add(const GpuIdentity& identity) noexcept {
  Locked lock(growing);
  const std::uint32_t index = gpus_used.load(std::memory_order_relaxed);
  if (index == kGpus) return nullptr;
  gpus[index].identity = identity;
  gpus_used.store(index + 1, std::memory_order_release);
  return &gpus[index];
}

}  // namespace

Gpu* add_gpu(CUdevice device) noexcept { return add(identify(device)); }

Gpu* add_gpu_to_hold(const Uuid& uuid) noexcept {
  GpuIdentity identity{};
  identity.ordinal = kNoOrdinal;
  identity.uuid = uuid;
  return add(identity);
}

// The driver may reuse a handle, and a program may create contexts without end, so entries of destroyed contexts are
// reused.
Context* add_context(CUcontext handle, Gpu& gpu) noexcept {
  Locked lock(growing);
  Context* context = context_of(handle);
  const std::uint32_t used = contexts_used.load(std::memory_order_relaxed);
  if (!context && used < kContexts) context = &contexts[used];
  for (std::uint32_t i = 0; !context && i < used; ++i)
    if (contexts[i].ended.load(std::memory_order_relaxed)) context = &contexts[i];
  if (!context) return nullptr;
  if (context == &contexts[used] || context->ended.load(std::memory_order_relaxed))
    context->primary.store(false, std::memory_order_relaxed);
  if (context->gpu != &gpu) context->gpu = &gpu;  // the helper thread may still read streams of the destroyed context
  context->handle.store(handle, std::memory_order_release);
  context->ended.store(false, std::memory_order_release);
  if (context == &contexts[used]) contexts_used.store(used + 1, std::memory_order_release);
  return context;
}

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

Gpu* gpu_at_work() noexcept {
  Gpu* own = own_gpu.load(std::memory_order_acquire);
  return own || gpu_count() == 0 ? own : &gpus[0];
}

const Link* own_link() noexcept {
  const Gpu* gpu = gpu_at_work();
  return gpu ? gpu->link.load(std::memory_order_acquire) : nullptr;
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

std::uint32_t gpu_count() noexcept { return gpus_used.load(std::memory_order_acquire); }
Gpu& gpu_at(std::uint32_t index) noexcept { return gpus[index]; }

void forget_gpus() noexcept {
  // The child closes the parent's sockets, because the agent would not notice the parent's death while they are open
  // here.
  for (std::uint32_t i = 0; i < gpus_used.load(std::memory_order_relaxed); ++i) {
    if (Link* link = gpus[i].link.load(std::memory_order_relaxed)) drop_in_child(*link);
    forget(gpus[i].knock);
    new (&gpus[i]) Gpu{};
  }
  for (std::uint32_t i = 0; i < contexts_used.load(std::memory_order_relaxed); ++i) new (&contexts[i]) Context{};
  gpus_used.store(0, std::memory_order_relaxed);
  contexts_used.store(0, std::memory_order_relaxed);
  growing.unlock();
}

}  // namespace cotenant
