#include "interposer/lifetime/attachment.h"

#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "interposer/agent/link.h"
#include "interposer/base/clock.h"
#include "interposer/base/thread.h"
#include "interposer/best_effort/chunk_log.h"
#include "interposer/best_effort/hold_word.h"
#include "interposer/kernels/kernel_table.h"
#include "interposer/lifetime/helper.h"
#include "interposer/lookup/entry.h"
#include "interposer/lookup/linked.h"
#include "interposer/process/launch_note.h"
#include "interposer/process/process.h"

namespace cotenant {
namespace {

using namespace cu;

pthread_mutex_t attaching = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;

void tell_no_agent(const char* reason) noexcept {
  const bool high = role() == Role::kHigh;
  if (*reason)
    tell("the agent at \"%s\" %s. Until then %s.", environment().socket, reason,
         high ? "this high client runs unprotected" : "best-effort work runs at minimum progress");
  else if (!*environment().socket)
    tell("COTENANT_SOCKET names no agent, so %s. Start the program by `cotenant run`.",
         high ? "this high client runs unprotected" : "best-effort work runs at minimum progress");
  else if (!std::getenv("COTENANT_UNPROTECTED"))  // otherwise `cotenant run` has told it
    tell("no agent answers at \"%s\": %s until one does. If none runs, start one with `cotenant up`.",
         environment().socket,
         high ? "this high client runs unprotected" : "best-effort work runs at minimum progress");
}

constexpr std::uint32_t kAskAgainUs = 500'000;
constexpr std::uint64_t kRemindNs = 60'000'000'000;

// While the GPU takes no best-effort client for a reason that passes, this thread blocks here, as one does whose work is
// held: an error would end a program that could run in a moment. There is no limit, because what follows it would be that
// error, or work that nothing holds back. The threads of the process that need the context block, too.
Attachment attach_in_time(const GpuIdentity& identity) noexcept {
  const std::uint64_t began = now_ns();
  std::uint64_t reminded = 0;
  char reason[sizeof Attachment::reason] = "";
  for (;;) {
    const Attachment attachment = attach(identity);
    const std::uint64_t now = now_ns();
    const bool waits = attachment.outcome == AttachOutcome::kLater;
    if (!waits && reminded != 0)
      tell("this best-effort client goes on after a wait of %llu s.",
           static_cast<unsigned long long>((now - began) / 1'000'000'000));
    if (!waits) return attachment;
    if (reminded == 0 || now - reminded >= kRemindNs || std::strcmp(reason, attachment.reason) != 0) {
      tell("this best-effort client waits at its first use of the GPU: %s", attachment.reason);
      reminded = now;
      std::memcpy(reason, attachment.reason, sizeof reason);
    }
    nap_us(kAskAgainUs);
  }
}

// Attaches to a GPU that is seen for the first time. A best-effort client without an agent gets a private region, in
// which it makes minimum progress only; a high client without an agent runs unchanged.
CUresult attach_gpu(Gpu& gpu) noexcept {
  open_kernel_table(gpu.identity.name);
  const Attachment attachment = attach_in_time(gpu.identity);
  switch (attachment.outcome) {
    case AttachOutcome::kAttached:
      if (role() == Role::kBestEffort) best_effort_enter(*attachment.link);
      gpu.link.store(attachment.link, std::memory_order_release);
      chunk_log::start(gpu);
      return CUDA_SUCCESS;
    case AttachOutcome::kRefused:
      tell_without_slot(attachment);
      return role() == Role::kHigh ? CUDA_SUCCESS : CUDA_ERROR_NOT_PERMITTED;
    case AttachOutcome::kLater:  // attach_in_time returns none
    case AttachOutcome::kBusy:
    case AttachOutcome::kNoAgent:
      gpu.awaited.store(attachment.outcome == AttachOutcome::kBusy, std::memory_order_release);
      tell_no_agent(attachment.reason);
      if (role() == Role::kHigh) return CUDA_SUCCESS;
      gpu.link.store(private_link(), std::memory_order_release);
      return CUDA_SUCCESS;
  }
  return CUDA_SUCCESS;
}

CUresult too_many_contexts(bool best_effort) noexcept {
  static std::atomic<bool> told{false};
  if (!best_effort) note_caveat(protocol::Caveat::kTooMany);
  if (!told.exchange(true))
    tell("this process has more than %u contexts at once: further ones are %s. Use fewer contexts.", kContexts,
         best_effort ? "refused" : "not protected");
  return best_effort ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

}  // namespace

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
  // Attaching takes some time. If two threads create the first context together, only one of them may attach, and the
  // other one must wait for the answer.
  const NotCancelled whole;
  pthread_mutex_lock(&attaching);
  Gpu* gpu = gpu_of_device(device);
  const bool first = !gpu;
  if (first) gpu = add_gpu(device);
  if (first) remove_launch_note();
  look_for_linked_functions();
  const bool best_effort = role() == Role::kBestEffort;
  // A refused best-effort client asks again, because it gets no context without a slot.
  const bool ask = gpu && (best_effort ? gpu == &gpu_at(0) && !gpu->link.load(std::memory_order_relaxed) : first);
  const CUresult result = ask ? attach_gpu(*gpu) : CUDA_SUCCESS;
  pthread_mutex_unlock(&attaching);
  if (result != CUDA_SUCCESS || !gpu) return result;
  start_helper();
  if (!add_context(handle, *gpu)) return too_many_contexts(best_effort);
  if (first && !best_effort && gpu != &gpu_at(0)) note_caveat(protocol::Caveat::kGpus);
  return CUDA_SUCCESS;
}

CUresult attach_own_gpu(Gpu& gpu) noexcept {
  if (gpu.link.load(std::memory_order_acquire)) return CUDA_SUCCESS;
  const NotCancelled whole;
  pthread_mutex_lock(&attaching);
  const CUresult result = gpu.link.load(std::memory_order_relaxed) ? CUDA_SUCCESS : attach_gpu(gpu);
  pthread_mutex_unlock(&attaching);
  return result;
}

void tell_without_slot(const Attachment& answer) noexcept {
  static char last[sizeof answer.reason] = "";
  static bool told = false;
  const NotCancelled whole;
  pthread_mutex_lock(&telling);
  const bool known = told && std::strcmp(last, answer.reason) == 0;
  std::memcpy(last, answer.reason, sizeof last);
  told = true;
  pthread_mutex_unlock(&telling);
  if (known) return;
  const bool high = role() == Role::kHigh;
  tell("the agent %s this %s client: %s%s", answer.outcome == AttachOutcome::kLater ? "has no slot yet for" : "refuses",
       high ? "high" : "best-effort", answer.reason, high ? " It runs unprotected until it has a slot." : "");
}

// A thread of the parent may have held them.
void forget_attachments() noexcept {
  pthread_mutex_init(&attaching, nullptr);
  pthread_mutex_init(&telling, nullptr);
}

}  // namespace cotenant
