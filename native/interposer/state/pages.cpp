#include "interposer/state/pages.h"

#include <sys/mman.h>

#include "interposer/base/clock.h"
#include "interposer/lookup/entry.h"
#include "interposer/state/capture.h"
#include "interposer/state/current.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

using namespace cu;

constexpr std::uint64_t kRetryNs = 1'000'000'000;

// Another mapping of a page; null: there is none.
void* map_again(const Part& page) noexcept {
  const auto offset = static_cast<off_t>(page.offset);
  void* at = mmap(nullptr, protocol::PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, page.file.number(), offset);
  return at == MAP_FAILED ? nullptr : at;
}

bool map_anew(ContextPages& pages, const Link& link) noexcept {
  static_assert(offsetof(protocol::HoldPage, word) == 0 && offsetof(protocol::BestEffortSlot, done) == 0);
  pages.hold_page = map_again(link.hold_part);
  pages.mark_page = map_again(link.slot_part);
  pages.mapped = pages.hold_page && pages.mark_page ? &link : nullptr;
  return pages.mapped != nullptr;
}

CUresult register_page(void* page, bool writable, CUdeviceptr& device) noexcept {
  const unsigned flags = CU_MEMHOSTREGISTER_DEVICEMAP;
  CUresult result = CUDA_ERROR_NOT_SUPPORTED;
  if (!writable) result = real().cuMemHostRegister_v2(page, protocol::PAGE, flags | CU_MEMHOSTREGISTER_READ_ONLY);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
    result = real().cuMemHostRegister_v2(page, protocol::PAGE, flags);
  return result == CUDA_SUCCESS ? real().cuMemHostGetDevicePointer_v2(&device, page, 0) : result;
}

CUresult register_pages(ContextPages& pages) noexcept {
  const CUresult result = register_page(pages.hold_page, false, pages.hold);
  return result == CUDA_SUCCESS ? register_page(pages.mark_page, true, pages.marks) : result;
}

bool try_to_map(Context& context, const Link& link) noexcept {
  if (!real().cuStreamBatchMemOp_v2 || !real().cuMemHostRegister_v2 || !real().cuMemHostGetDevicePointer_v2)
    return false;
  const Current current(context.handle.load(std::memory_order_relaxed));
  const BesideCaptures beside;
  ContextPages& pages = context.pages;
  if (!current.is() || (pages.mapped != &link && !map_anew(pages, link))) return false;
  const CUresult result = register_pages(pages);
  if (result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) return result == CUDA_SUCCESS;
  // An earlier context of this entry has registered the page, and the driver has not released it yet.
  return map_anew(pages, link) && register_pages(pages) == CUDA_SUCCESS;
}

void tell_refused() noexcept {
  static std::atomic<bool> told{false};
  if (!told.exchange(true))
    tell(
        "this driver refuses to let the GPU wait for host memory now: best-effort work is held back launch by launch, "
        "which costs throughput. It is asked again every second.");
}

}  // namespace

bool map_pages(Context& context, const Link& link) noexcept {
  ContextPages& pages = context.pages;
  if (pages.of.load(std::memory_order_acquire) == &link) return true;
  if (lost_parts(link)) return false;  // another link comes soon
  const std::uint64_t now = now_ns();
  if (now < pages.retry_ns.load(std::memory_order_relaxed)) return false;
  if (pages.busy.exchange(true, std::memory_order_acquire)) return false;
  const bool able = try_to_map(context, link);
  if (!able) tell_refused();
  pages.retry_ns.store(able ? 0 : now + kRetryNs, std::memory_order_relaxed);
  if (able) pages.of.store(&link, std::memory_order_release);
  pages.busy.store(false, std::memory_order_release);
  return able;
}

void pages_end(ContextPages& pages) noexcept {
  pages.of.store(nullptr, std::memory_order_release);
  pages.retry_ns.store(0, std::memory_order_relaxed);
}

CUdeviceptr hold_word(const Context& context) noexcept { return context.pages.hold; }

CUdeviceptr mark_word(const Context& context, std::uint32_t index) noexcept {
  return context.pages.marks + 4ull * index;
}

CUdeviceptr gate_word(const Context& context) noexcept { return mark_word(context, kMarkWords); }

std::uint32_t last_mark(const Link& link, std::uint32_t index) noexcept {
  return link.best_effort().done[index].load(std::memory_order_acquire);
}

std::uint32_t last_gate(const Link& link) noexcept { return last_mark(link, kMarkWords); }

}  // namespace cotenant
