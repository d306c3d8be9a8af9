// Completions that nobody shows us. An application may poll a pinned word that its own work writes;
// no driver call is made when it sees it. After the last resort has ended a few bursts, the client is
// taken for such a one, and its work is followed by a sequence word that the helper thread reads.
#include <algorithm>

#include "interposer/clock.h"
#include "interposer/entry.h"
#include "interposer/gpu.h"

namespace cotenant {
namespace {

constexpr std::uint64_t kTailEveryNs = 200'000;        // at most one word in flight a stream per 200 us
constexpr std::uint64_t kSilenceNs = 50'000'000;       // never give up before 50 ms,
constexpr std::uint64_t kFirstSilenceNs = 1'000'000'000;  // or 1 s while no burst has been seen,
constexpr std::uint64_t kSilenceFactor = 10;           // or 10 times the longest recent burst
constexpr std::uint32_t kUnobservedToTail = 2;
constexpr std::uint32_t kTailLookUs = 500;
constexpr std::uint32_t kQuietLookUs = 10'000;

std::uint32_t* tail_page(Context& context) noexcept {
  if (auto* page = context.tail_page.load(std::memory_order_acquire)) return page;
  void* host = nullptr;
  cu::CUdeviceptr device = 0;
  const unsigned flags = cu::CU_MEMHOSTALLOC_PORTABLE | cu::CU_MEMHOSTALLOC_DEVICEMAP;
  if (!real().cuMemHostAlloc || real().cuMemHostAlloc(&host, kStreams * 4, flags) != cu::CUDA_SUCCESS) return nullptr;
  if (real().cuMemHostGetDevicePointer_v2(&device, host, 0) != cu::CUDA_SUCCESS) return nullptr;
  auto* page = static_cast<std::uint32_t*>(host);
  for (std::uint32_t i = 0; i < kStreams; ++i) page[i] = 0;
  context.tail_device = device;
  std::uint32_t* none = nullptr;
  context.tail_page.compare_exchange_strong(none, page, std::memory_order_acq_rel);
  return context.tail_page.load(std::memory_order_acquire);
}

std::uint32_t read_word(const std::uint32_t* word) noexcept { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

void read_tail(Stream& stream) noexcept {
  const auto* page = stream.context->tail_page.load(std::memory_order_acquire);
  const std::uint32_t number = stream.high.tail.number.load(std::memory_order_acquire);
  const std::uint64_t upto = stream.high.tail.upto.load(std::memory_order_relaxed);
  const std::uint64_t at_ns = stream.high.tail.at_ns.load(std::memory_order_relaxed);
  if (page && number != 0 && read_word(page + stream.index) == number) high_observe_unseen(stream, upto, at_ns);
}

}  // namespace

void high_tail(Stream& stream) noexcept {
  Gpu& gpu = *stream.context->gpu;
  if (!gpu.high.tails.load(std::memory_order_relaxed) || !real().cuStreamWriteValue32_v2) return;
  TailWord& tail = stream.high.tail;
  std::uint32_t* page = tail_page(*stream.context);
  if (!page) return;
  const std::uint64_t now = now_ns();
  const bool in_flight = read_word(page + stream.index) != tail.number.load(std::memory_order_relaxed);
  if (in_flight && now - tail.at_ns.load(std::memory_order_relaxed) < kTailEveryNs) return;
  const std::uint32_t number = tail.number.load(std::memory_order_relaxed) + 1;
  tail.upto.store(stream.high.settled.load(std::memory_order_acquire), std::memory_order_relaxed);
  tail.at_ns.store(now, std::memory_order_relaxed);
  tail.number.store(number, std::memory_order_release);
  const cu::CUdeviceptr word = stream.context->tail_device + 4ull * stream.index;
  if (real().cuStreamWriteValue32_v2(stream.handle, word, number, 0) != cu::CUDA_SUCCESS) return;
  if (const Link* link = gpu.link.load(std::memory_order_acquire))
    link->high().tailWrites.fetch_add(1, std::memory_order_relaxed);
}

std::uint32_t high_tick(Gpu& gpu, std::uint64_t now) noexcept {
  std::uint64_t submitted = 0;
  bool busy = false;
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    Stream& stream = stream_at(i);
    if (stream.context->gpu != &gpu) continue;
    submitted += stream.high.begun.load(std::memory_order_relaxed);
    if (!stream.high.busy.load(std::memory_order_relaxed)) continue;
    read_tail(stream);
    busy = busy || stream.high.busy.load(std::memory_order_relaxed);
  }
  if (!busy || submitted != gpu.high.quiet_count) {
    gpu.high.quiet_count = submitted;
    gpu.high.quiet_since = now;
  }
  std::uint64_t learned = 0;
  {
    Locked lock(gpu.high.lock);
    learned = gpu.high.learned_ns;
  }
  const std::uint64_t patience = learned == 0 ? kFirstSilenceNs
                                 : learned * kSilenceFactor > kSilenceNs ? learned * kSilenceFactor
                                                                         : kSilenceNs;
  if (busy && now - gpu.high.quiet_since > patience) {
    high_give_up(gpu);
    gpu.high.quiet_since = now;
    if (gpu.high.unobserved >= kUnobservedToTail) gpu.high.tails.store(true, std::memory_order_relaxed);
  }
  const bool tails = busy && gpu.high.tails.load(std::memory_order_relaxed);
  return std::min(tails ? kTailLookUs : kQuietLookUs, high_expire(gpu, now));
}

}  // namespace cotenant
