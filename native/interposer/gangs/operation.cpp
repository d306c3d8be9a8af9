#include "interposer/gangs/operation.h"

#include <pthread.h>
#include <sys/mman.h>

#include <limits>

#include "interposer/base/clock.h"
#include "interposer/base/spin.h"
#include "interposer/base/thread.h"
#include "interposer/best_effort/border.h"
#include "interposer/best_effort/exclusive_stream.h"
#include "interposer/kernels/ranks.h"
#include "interposer/lookup/entry.h"
#include "interposer/process/helper_state.h"
#include "interposer/state/capture.h"
#include "interposer/state/current.h"

namespace cotenant::gangs {
namespace {

using namespace cu;

constexpr std::uint64_t kRoomNs = 60'000'000'000;  // for the operation that had the place before

// This rank's two pages as the GPU sees them, in each context that has used them.
struct Pages {
  CUcontext context;
  void* mapped[2];
  CUdeviceptr progress;
  CUdeviceptr commits;
};
constexpr std::size_t kContextsWithPages = 16;
pthread_mutex_t mapping = PTHREAD_MUTEX_INITIALIZER;
Pages pages_of_contexts[kContextsWithPages];
std::uint32_t used = 0;

Spin numbering;

bool register_page(std::size_t offset, bool writable, void*& at, CUdeviceptr& device) noexcept {
  at = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, block_file(), static_cast<off_t>(offset));
  if (at == MAP_FAILED) return false;
  const unsigned flags = CU_MEMHOSTREGISTER_DEVICEMAP;
  CUresult result = CUDA_ERROR_NOT_SUPPORTED;
  if (!writable) result = real().cuMemHostRegister_v2(at, kPage, flags | CU_MEMHOSTREGISTER_READ_ONLY);
  if (result != CUDA_SUCCESS) result = real().cuMemHostRegister_v2(at, kPage, flags);
  return result == CUDA_SUCCESS && real().cuMemHostGetDevicePointer_v2(&device, at, 0) == CUDA_SUCCESS;
}

// Null: the driver refuses.
const Pages* pages_in(Block& block, Context& context) noexcept {
  const CUcontext handle = context.handle.load(std::memory_order_relaxed);
  const NotCancelled whole;
  const Current current(handle);
  const BesideCaptures beside;
  const Pages* found = nullptr;
  pthread_mutex_lock(&mapping);
  for (std::uint32_t i = 0; i < used && !found; ++i)
    if (pages_of_contexts[i].context == handle) found = &pages_of_contexts[i];
  if (!found && used < kContextsWithPages && current.is()) {
    Pages& fresh = pages_of_contexts[used];
    const auto offset = [&](const void* page) {
      return static_cast<std::size_t>(static_cast<const char*>(page) - reinterpret_cast<const char*>(&block));
    };
    const Rank& own = own_rank(block);
    if (register_page(offset(&own.progress), true, fresh.mapped[0], fresh.progress) &&
        register_page(offset(&own.commits), false, fresh.mapped[1], fresh.commits)) {
      fresh.context = handle;
      found = &fresh;
      ++used;
    }
  }
  pthread_mutex_unlock(&mapping);
  return found;
}

CUstreamBatchMemOpParams wait_for(CUdeviceptr at, std::uint32_t ticket) noexcept {
  CUstreamBatchMemOpParams operation{};
  operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operation.waitValue.address = at;
  operation.waitValue.value = ticket;
  operation.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  return operation;
}

// Puts these words into the stream, behind a mark, and ends the chunk. `waits`: the words are a wait, as at a preemption
// point.
bool put(Stream& stream, const Link& link, const CUstreamBatchMemOpParams* words, unsigned count, bool waits) noexcept {
  Lane& lane = stream.lane;
  begin_launch(lane);
  CUstreamBatchMemOpParams all[3];
  unsigned put = 0;
  const CUdeviceptr mark = map_pages(*stream.context, link) ? mark_address(stream) : 0;
  const std::uint32_t number = mark ? next_mark(stream) : 0;
  if (mark) all[put++] = write_word(mark, number);
  for (unsigned i = 0; i < count; ++i) all[put++] = words[i];
  const bool done = real().cuStreamBatchMemOp_v2(stream.handle, put, all, 0) == CUDA_SUCCESS;
  if (mark) note_word_mark(stream, number, done);
  if (done) close_chunk(stream, link, waits);
  lane.launches_in_call.fetch_sub(1, std::memory_order_release);
  return done;
}

CUdeviceptr word(CUdeviceptr page, std::size_t offset) noexcept { return page + offset; }
std::size_t arrived_at(std::uint32_t place, std::uint32_t stream) noexcept {
  return offsetof(Progress, arrived) + 4 * (place * kStreams + stream);
}
std::size_t done_at(std::uint32_t place, std::uint32_t stream) noexcept {
  return offsetof(Progress, done) + 4 * (place * kStreams + stream);
}

bool has_ended(const Rank& own, std::uint32_t place) noexcept {
  const Operation& operation = own.operations[place];
  const std::uint32_t ticket = operation.ticket.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < operation.streams.load(std::memory_order_relaxed); ++i)
    if (static_cast<std::int32_t>(own.progress.done[place][i].load(std::memory_order_acquire) - ticket) < 0)
      return false;
  return true;
}

bool wait_for_place(const Rank& own, std::uint32_t place) noexcept {
  const std::uint64_t until = now_ns() + kRoomNs;
  while (!has_ended(own, place)) {
    if (now_ns() > until) return false;
    nap_us(50);
  }
  return true;
}

void release(Rank& own, std::uint32_t ticket) noexcept {
  own.commits.committed[ticket % kOperations].store(ticket, std::memory_order_release);
}

struct Ready {
  Stream* stream;
  const Link* link;
  const Pages* pages;
};

const char* prepare(Block& block, CUstream handle, Ready& ready) noexcept {
  if (is_capturing(handle, NullStream::kLegacy)) return "it is captured into a CUDA graph";
  Stream* stream = stream_of(handle, NullStream::kLegacy);
  if (!stream) return "its stream is unknown";
  Gpu& gpu = *stream->context->gpu;
  if (own_gpu.load(std::memory_order_acquire) != &gpu) return "its stream is on another GPU";
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link || !helper_runs()) return "its GPU has no agent";
  const Pages* pages = pages_in(block, *stream->context);
  ready = {stream, link, pages};
  return pages ? nullptr : "the driver does not let its GPU wait for host memory";
}

}  // namespace

const char* begin(Block& block, const Launch& launch, std::uint32_t& ticket) noexcept {
  Ready ready[kStreams];
  for (std::uint32_t i = 0; i < launch.streams; ++i)
    if (const char* why = prepare(block, launch.stream[i], ready[i])) return why;
  Rank& own = own_rank(block);
  {
    Locked lock(numbering);
    ticket = own.launched.load(std::memory_order_relaxed) + 1;
    own.launched.store(ticket, std::memory_order_release);
  }
  const std::uint32_t place = ticket % kOperations;
  Operation& operation = own.operations[place];
  if (!wait_for_place(own, place)) return "128 operations before it have not ended";
  operation.let_go.store(0, std::memory_order_relaxed);
  operation.streams.store(launch.streams, std::memory_order_relaxed);
  operation.parts.store(launch.parts, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < launch.parts; ++i) {
    Part& part = operation.part[i];
    part.lane.store(launch.part[i].lane, std::memory_order_relaxed);
    part.number.store(launch.part[i].number, std::memory_order_relaxed);
    part.communicator.store(launch.part[i].communicator, std::memory_order_relaxed);
    part.members.store(launch.part[i].members, std::memory_order_relaxed);
  }
  operation.ticket.store(ticket, std::memory_order_release);
  for (std::uint32_t i = 0; i < launch.streams; ++i) {
    const CUstreamBatchMemOpParams words[] = {
        write_word(word(ready[i].pages->progress, arrived_at(place, i)), ticket),
        wait_for(word(ready[i].pages->commits, offsetof(Commits, committed) + 4 * place), ticket)};
    if (!put(*ready[i].stream, *ready[i].link, words, 2, true)) {
      release(own, ticket);
      return "the driver does not take a wait for its commit";
    }
    // No preemption point comes between the commit and the kernels.
    ready[i].stream->lane.border_retry_ns.store(std::numeric_limits<std::uint64_t>::max(), std::memory_order_relaxed);
  }
  in_gang_operation = true;
  wake_decider(block);
  return nullptr;
}

void end(Block& block, const Launch& launch, std::uint32_t ticket, bool launched) noexcept {
  in_gang_operation = false;
  const std::uint32_t place = ticket % kOperations;
  for (std::uint32_t i = 0; i < launch.streams; ++i) {
    Ready ready{};
    if (prepare(block, launch.stream[i], ready)) continue;
    ready.stream->lane.border_retry_ns.store(0, std::memory_order_relaxed);
    const CUstreamBatchMemOpParams words[] = {write_word(word(ready.pages->progress, done_at(place, i)), ticket)};
    static_cast<void>(put(*ready.stream, *ready.link, words, 1, false));
  }
  if (!launched) release(own_rank(block), ticket);
}

void release_operations(Block& block, std::uint64_t communicator) noexcept {
  Rank& own = own_rank(block);
  for (std::uint32_t place = 0; place < kOperations; ++place) {
    const Operation& operation = own.operations[place];
    const std::uint32_t ticket = operation.ticket.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; ticket != 0 && i < operation.parts.load(std::memory_order_relaxed); ++i)
      if (operation.part[i].communicator.load(std::memory_order_relaxed) == communicator) release(own, ticket);
  }
}

void forget_operations() noexcept {
  pthread_mutex_init(&mapping, nullptr);
  numbering.unlock();
  used = 0;
}

}  // namespace cotenant::gangs
