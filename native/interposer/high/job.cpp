#include "interposer/high/job.h"

#include <algorithm>

#include "interposer/high/holding.h"
#include "interposer/kernels/ranks.h"
#include "interposer/process/process.h"

namespace cotenant {
namespace {

constexpr std::uint64_t kAloneNs = 10'000'000'000;  // after which a rank should have been seen together with others

struct Named {
  Uuid uuid;
  std::uint32_t follower;  // 1 more than its slot; 0: none
};

struct Job {
  std::uint32_t count;
  Named gpus[protocol::MAX_JOB_GPUS];
};

// The agent may be older than one whose words are in the slot.
constexpr std::uint32_t kRevision = 3;

// Reads what the agent says in a client's slot. False: it is being changed, and is read at the next look.
bool read_job(const Link& link, Job& job) noexcept {
  protocol::HighSlot& slot = link.high();
  job.count = 0;
  if (link.region->header.revision.load(std::memory_order_relaxed) < kRevision) return true;
  const std::uint32_t version = slot.jobVersion.load(std::memory_order_acquire);
  if (version % 2 != 0) return false;
  job.count = std::min<std::uint32_t>(slot.jobCount.load(std::memory_order_relaxed), protocol::MAX_JOB_GPUS);
  for (std::uint32_t i = 0; i < job.count; ++i) {
    job.gpus[i].uuid.read(slot.jobGpus + std::size_t{16} * i);
    const std::uint32_t follower = slot.jobSlots[i].load(std::memory_order_relaxed);
    job.gpus[i].follower = follower <= protocol::MAX_HIGH ? follower : 0;
  }
  // The addition keeps the reads above before it. ThreadSanitizer knows no fences.
  return slot.jobVersion.fetch_add(0, std::memory_order_acq_rel) == version;
}

Gpu* gpu_of_uuid(const Uuid& uuid) noexcept {
  Gpu* found = nullptr;
  for (std::uint32_t i = 0; i < gpu_count(); ++i)
    if (gpu_at(i).identity.uuid == uuid && (!found || found->identity.holds_only())) found = &gpu_at(i);
  return found;
}

void want(const Named& named) noexcept {
  Gpu* gpu = gpu_of_uuid(named.uuid);
  if (!gpu) gpu = add_gpu_to_hold(named.uuid);
  static std::atomic<bool> told{false};
  if (!gpu && !told.exchange(true))
    tell("the GPUs of this job are too many: best-effort work on some of them goes on while this process is active.");
  if (!gpu || !gpu->identity.holds_only()) return;
  gpu->wanted = true;
  gpu->follower.store(named.follower, std::memory_order_relaxed);
}

void leave(Gpu& gpu, std::uint64_t now) noexcept {
  if (gpu.knock.under_way) forget(gpu.knock);
  if (Link* link = stop_holding(gpu, now)) hang_up(*link);
}

void tell_if_alone(const protocol::HighSlot& slot, std::uint64_t now) noexcept {
  static std::uint64_t since = 0;
  static bool told = false;
  if (told || environment().ranks[0] == '\0') return;
  if (slot.jobVersion.load(std::memory_order_relaxed) != 0) return void(told = true);
  if (since == 0) since = now;
  if (now - since < kAloneNs) return;
  told = true;
  tell(
      "%s: the agent knows no other rank of this job, so this one is protected on its own GPU alone. Where requests "
      "need several ranks, best-effort work beside the others may still make it wait.",
      environment().ranks);
}

}  // namespace

void follow_job(std::uint64_t now) noexcept {
  const std::uint32_t count = gpu_count();
  for (std::uint32_t i = 0; i < count; ++i) gpu_at(i).wanted = false;
  const bool ranks = ranks_seen.load(std::memory_order_relaxed) || environment().ranks[0] != '\0';
  for (std::uint32_t i = 0; i < count; ++i) {
    const Link* link = gpu_at(i).link.load(std::memory_order_acquire);
    if (!link || gpu_at(i).identity.holds_only()) continue;
    protocol::HighSlot& slot = link->high();
    slot.ranks.store(ranks ? 1 : 0, std::memory_order_relaxed);
    Job job;
    if (!read_job(*link, job)) return;
    for (std::uint32_t n = 0; n < job.count; ++n) want(job.gpus[n]);
    tell_if_alone(slot, now);
  }
  for (std::uint32_t i = 0; i < gpu_count(); ++i) {
    Gpu& gpu = gpu_at(i);
    if (gpu.identity.holds_only() && !gpu.wanted) leave(gpu, now);
  }
}

}  // namespace cotenant
