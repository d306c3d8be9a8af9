#include "interposer/best_effort/border.h"

#include "interposer/base/clock.h"
#include "interposer/best_effort/chunk_log.h"
#include "interposer/lookup/entry.h"

namespace cotenant {
namespace {

using namespace cu;

// The driver refuses a preemption point if the stream is about to be destroyed or its context is lost. Other streams are not
// affected.
constexpr std::uint64_t kRetryNs = 100'000'000;

}  // namespace

CUstreamBatchMemOpParams write_word(CUdeviceptr at, std::uint32_t value) noexcept {
  CUstreamBatchMemOpParams operation{};
  operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operation.writeValue.address = at;
  operation.writeValue.value = value;
  operation.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  return operation;
}

CUstreamBatchMemOpParams wait_for_release(const Context& context) noexcept {
  CUstreamBatchMemOpParams operation{};
  operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operation.waitValue.address = hold_word(context);
  operation.waitValue.value = 0;
  operation.waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  return operation;
}

bool put_border(Stream& stream, const Link& link) noexcept {
  Context& context = *stream.context;
  Lane& lane = stream.lane;
  const std::uint64_t retry_ns = lane.border_retry_ns.load(std::memory_order_relaxed);
  if ((retry_ns != 0 && now_ns() < retry_ns) || !map_pages(context, link)) return false;
  const CUdeviceptr at = mark_address(stream);
  const std::uint32_t number = next_mark(stream);
  CUstreamBatchMemOpParams operations[] = {write_word(at, number), wait_for_release(context)};
  // Without a mark the wait is still correct: the stream stops at it, but nobody sees how far the stream has come.
  if (at == 0) [[unlikely]]
    put_event_mark(stream, number);
  const unsigned without = at == 0 ? 1 : 0;
  const bool put = real().cuStreamBatchMemOp_v2(stream.handle, 2 - without, operations + without, 0) == CUDA_SUCCESS;
  note_word_mark(stream, number, put);
  if (!put) {
    lane.border_retry_ns.store(now_ns() + kRetryNs, std::memory_order_relaxed);
    return false;
  }
  if (retry_ns != 0) lane.border_retry_ns.store(0, std::memory_order_relaxed);
  close_chunk(stream, link, true);
  return true;
}

void close_chunk(Stream& stream, const Link& link, bool waits) noexcept {
  Lane& lane = stream.lane;
  if (chunk_log::is_on())
    chunk_log::note(stream, chunk_log::What::kBorder, lane.borders.load(std::memory_order_relaxed), waits);
  link.best_effort().chunks.fetch_add(1, std::memory_order_relaxed);
  lane.chunk_us.store(0, std::memory_order_relaxed);
  lane.chunk_launches.store(0, std::memory_order_relaxed);
  lane.behind_wait.store(waits, std::memory_order_relaxed);
}

}  // namespace cotenant
