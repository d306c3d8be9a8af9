#include "interposer/lifetime/gang.h"

#include "interposer/gangs/communicators.h"
#include "interposer/gangs/operation.h"
#include "interposer/lifetime/attachment.h"
#include "interposer/process/process.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

std::atomic<bool> told_ranks{false};
std::atomic<bool> told_gpus{false};

cu::CUresult refuse_ranks(const char* sign, const char* why) noexcept {
  if (!told_ranks.exchange(true))
    tell(
        "%s: this is one rank of several, and no gang of best-effort ranks: %s. Held back each by itself, ranks would "
        "wait for each other. Start it with `cotenant run --ungated`.",
        sign, why);
  return cu::CUDA_ERROR_NOT_PERMITTED;
}

}  // namespace

cu::CUresult may_start() noexcept {
  const char* ranks = environment().ranks;
  if (role() == Role::kBestEffort && ranks[0] != '\0')
    if (const char* why = gangs::why_no_member()) return refuse_ranks(ranks, why);
  static std::atomic<bool> told_movable{false};
  if (role() == Role::kBestEffort && ranks[0] != '\0' && environment().movable && !told_movable.exchange(true))
    tell("%s: the memory of a rank is not movable, because other ranks use it.", ranks);
  if (role() == Role::kHigh && ranks[0] != '\0') note_caveat(protocol::Caveat::kRanks);
  return cu::CUDA_SUCCESS;
}

cu::CUresult choose_gpu(Gpu& gpu) noexcept {
  if (ranks_seen.load(std::memory_order_relaxed))
    return refuse_ranks("a kernel waits for other ranks", "it is begun by no call that is committed");
  Gpu* none = nullptr;
  if (own_gpu.compare_exchange_strong(none, &gpu, std::memory_order_acq_rel) || none == &gpu) {
    const cu::CUresult result = attach_own_gpu(gpu);
    if (result != cu::CUDA_SUCCESS) own_gpu.store(nullptr, std::memory_order_release);  // without a slot it asks again
    return result;
  }
  if (!told_gpus.exchange(true))
    tell(
        "a best-effort process on several GPUs is refused: what is held back on one of them the others would wait for. "
        "It "
        "already works on GPU %d; set CUDA_VISIBLE_DEVICES to one GPU, or start it with `cotenant run --ungated`.",
        none->identity.ordinal);
  return cu::CUDA_ERROR_NOT_PERMITTED;
}

void forget_gang() noexcept {
  own_gpu.store(nullptr, std::memory_order_relaxed);
  ranks_seen.store(false, std::memory_order_relaxed);
  gangs::forget_communicators();
  gangs::forget_operations();
  gangs::forget_member();
}

}  // namespace cotenant
