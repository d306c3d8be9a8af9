#include "interposer/border.h"

#include "interposer/capture.h"
#include "interposer/chunk_log.h"
#include "interposer/entry.h"

namespace cotenant {
namespace {

using namespace cu;

bool register_page(void* page, bool writable, CUdeviceptr& device) noexcept {
  const unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
  CUresult result = CUDA_ERROR_NOT_SUPPORTED;
  if (!writable) result = real().cuMemHostRegister_v2(page, protocol::PAGE, flags | CU_MEMHOSTREGISTER_READ_ONLY);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
    result = real().cuMemHostRegister_v2(page, protocol::PAGE, flags);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) return false;
  return real().cuMemHostGetDevicePointer_v2(&device, page, 0) == CUDA_SUCCESS;
}

protocol::Marks& marks_of(const Link& link) noexcept { return link.region->marks[link.slot]; }

}  // namespace

bool map_pages(Context& context, const Link& link) noexcept {
  ContextMapping& mapping = context.mapping;
  if (mapping.of.load(std::memory_order_acquire) == &link) return !mapping.failed.load(std::memory_order_relaxed);
  if (captures_open()) return false;  // registering memory would spoil a global capture; next time
  static std::atomic<bool> busy{false};  // one at a time; whoever comes meanwhile gates by itself
  if (busy.exchange(true, std::memory_order_acquire)) return false;
  const bool able = real().cuStreamBatchMemOp_v2 && real().cuMemHostRegister_v2 &&
                    register_page(&link.region->holds, false, mapping.hold) &&
                    register_page(&marks_of(link), true, mapping.marks);
  mapping.failed.store(!able, std::memory_order_relaxed);
  mapping.of.store(&link, std::memory_order_release);
  busy.store(false, std::memory_order_release);
  if (!able) tell("this driver cannot wait for host memory in a stream: gating launch by launch.");
  return able;
}

CUdeviceptr hold_word(const Context& context, const Link& link) noexcept { return context.mapping.hold + 4ull * link.slot; }

CUdeviceptr gate_word(const Context& context) noexcept { return context.mapping.marks + 4ull * kStreams; }

std::uint32_t last_gate(const Link& link) noexcept {
  return marks_of(link).done[kStreams].load(std::memory_order_acquire);
}

CUstreamBatchMemOpParams write_word(CUdeviceptr at, std::uint32_t value) noexcept {
  CUstreamBatchMemOpParams operation{};
  operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operation.writeValue.address = at;
  operation.writeValue.value = value;
  operation.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  return operation;
}

CUstreamBatchMemOpParams wait_for_release(const Context& context, const Link& link) noexcept {
  CUstreamBatchMemOpParams operation{};
  operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operation.waitValue.address = hold_word(context, link);
  operation.waitValue.value = 0;
  operation.waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  return operation;
}

bool put_border(Stream& stream, const Link& link, Border border) noexcept {
  Context& context = *stream.context;
  Lane& lane = stream.lane;
  if (!map_pages(context, link)) return false;
  const std::uint32_t number = lane.borders.fetch_add(1, std::memory_order_relaxed) + 1;
  lane.ring_ns[number % Lane::kRing].store(lane.submitted_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
  lane.ring_launches[number % Lane::kRing].store(lane.launches.load(std::memory_order_relaxed), std::memory_order_relaxed);
  CUstreamBatchMemOpParams operations[] = {write_word(context.mapping.marks + 4ull * stream.index, number),
                                           wait_for_release(context, link)};
  const unsigned count = border == Border::kMarkAndWait ? 2 : 1;
  if (real().cuStreamBatchMemOp_v2(stream.handle, count, operations, 0) != CUDA_SUCCESS) {
    context.mapping.failed.store(true, std::memory_order_relaxed);
    return false;
  }
  if (chunk_log::is_on()) chunk_log::note(stream, chunk_log::What::kBorder, number, count - 1);
  link.best_effort().chunks.fetch_add(1, std::memory_order_relaxed);
  lane.chunk_us.store(0, std::memory_order_relaxed);
  lane.chunk_launches.store(0, std::memory_order_relaxed);
  lane.open.store(false, std::memory_order_relaxed);
  lane.behind_wait.store(border == Border::kMarkAndWait, std::memory_order_relaxed);
  return true;
}

void mark_open_lanes(const Gpu& gpu, const Link& link) noexcept {
  if (captures_open()) return;
  cu::CUcontext current = nullptr;
  if (real().cuCtxGetCurrent(&current) != CUDA_SUCCESS) return;
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    Stream& stream = stream_at(i);
    if (stream.context->gpu != &gpu || stream.gone.load(std::memory_order_relaxed)) continue;
    // The special handles mean the current context's and the calling thread's streams.
    const bool reachable = !is_special(stream) || (own_special(stream) && stream.context->handle.load() == current);
    if (reachable && stream.lane.open.load(std::memory_order_relaxed)) put_border(stream, link, Border::kMarkOnly);
  }
}

void read_mark(Stream& stream, const Link& link) noexcept {
  Lane& lane = stream.lane;
  const std::uint32_t issued = lane.borders.load(std::memory_order_relaxed);
  const std::uint32_t passed = lane.passed.load(std::memory_order_relaxed);
  if (issued == passed) return;
  const std::uint32_t number = marks_of(link).done[stream.index].load(std::memory_order_acquire);
  // Numbers grow and may wrap; a value that is not between the last seen and the last issued is a relic
  // of an earlier client of the slot.
  if (number - passed - 1 >= issued - passed) return;
  lane.passed.store(number, std::memory_order_relaxed);
  const std::uint64_t ns = lane.ring_ns[number % Lane::kRing].load(std::memory_order_relaxed);
  const std::uint64_t launches = lane.ring_launches[number % Lane::kRing].load(std::memory_order_relaxed);
  if (ns > lane.finished_ns.load(std::memory_order_relaxed)) lane.finished_ns.store(ns, std::memory_order_relaxed);
  if (launches > lane.finished_launches.load(std::memory_order_relaxed))
    lane.finished_launches.store(launches, std::memory_order_relaxed);
}

}  // namespace cotenant
