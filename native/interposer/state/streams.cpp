#include "interposer/state/streams.h"

#include <new>

#include "interposer/base/spin.h"
#include "interposer/base/table.h"
#include "interposer/lifetime/attachment.h"
#include "interposer/lookup/entry.h"
#include "interposer/process/process.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

using namespace cu;

// Two tables with open addressing: while readers use one, the other can be rebuilt. The size is a power of two.
constexpr std::uint32_t kTable = 4 * kStreams;
constexpr std::uint32_t kCrowded = kTable / 4 * 3;
using Places = std::atomic<Stream*>[kTable];

// Handles 0 to 2 are special. Per-thread streams are distinguished by the address of a thread-local byte.
constexpr std::uintptr_t kLegacyKey = 1;
thread_local char own_thread;

// These take megabytes. They need no constructor, so a process touches only the pages that it uses.
__constinit Stream streams[kStreams]{};
Places tables[2];
std::atomic<std::uint32_t> current_table{0};
std::uint32_t crowding{0};  // places in use in the current table, by streams that exist or are gone
std::atomic<std::uint32_t> streams_used{0};
Spin growing;  // guards the tables' changes and the queue

// Entries whose streams have gone, the one that has waited longest first. They are used again before new ones, because every
// look at outstanding work goes through all entries that were ever used. An entry rests while others go, because the GPU may
// still write marks of a stream that was destroyed with work in it. Entries of special streams are not among them: threads
// keep pointers to these.
constexpr std::uint32_t kRest = 64;
struct {
  std::uint16_t index[kStreams];
  std::uint32_t first;
  std::uint32_t count;
} queue;
static_assert(kStreams <= 1u << 16);

thread_local Stream* latest = nullptr;
thread_local std::uintptr_t latest_key = 0;
thread_local CUcontext latest_context = nullptr;

Places& table() noexcept { return tables[current_table.load(std::memory_order_acquire)]; }

// Real handles are unique in the process, so their context is neither hashed nor compared.
const Context* context_to_hash(const Stream& stream) noexcept {
  return is_special(stream) ? stream.context.get() : nullptr;
}

std::uint64_t hash_key(std::uintptr_t key, const Context* context) noexcept {
  return key ^ reinterpret_cast<std::uintptr_t>(context);
}

Stream* look_up(std::uintptr_t key, const Context* context, bool gone) noexcept {
  Places& in = table();
  Stream* match = nullptr;
  probe(hash_key(key, context), kTable, [&](std::size_t at) {
    Stream* found = in[at].load(std::memory_order_acquire);
    if (!found) return true;
    if (found->key.load(std::memory_order_relaxed) != key || (context && found->context != context) ||
        found->gone.load(std::memory_order_acquire) != gone)
      return false;
    match = found;
    return true;
  });
  return match;
}

void put(Places& into, Stream& stream) noexcept {
  probe(hash_key(stream.key.load(std::memory_order_relaxed), context_to_hash(stream)), kTable, [&](std::size_t at) {
    if (into[at].load(std::memory_order_relaxed)) return false;
    into[at].store(&stream, std::memory_order_release);
    return true;
  });
  ++crowding;
}

// Rebuilds the other table with the streams that still exist, and makes it the current one.
void rebuild() noexcept {
  const std::uint32_t next = 1 - current_table.load(std::memory_order_relaxed);
  for (auto& place : tables[next]) place.store(nullptr, std::memory_order_relaxed);
  crowding = 0;
  for (std::uint32_t i = 0; i < streams_used.load(std::memory_order_relaxed); ++i)
    if (!streams[i].gone.load(std::memory_order_relaxed)) put(tables[next], streams[i]);
  current_table.store(next, std::memory_order_release);
}

[[gnu::cold]] void tell_too_many() noexcept {
  static std::atomic<bool> told{false};
  note_caveat(protocol::Caveat::kTooMany);
  if (!told.exchange(true))
    tell("this process uses more than %u streams at once: work in the others is %s. Use fewer streams.", kStreams,
         role() == Role::kHigh ? "not protected" : "not held back");
}

// Its stream has gone, and so has the work of a high client in it.
bool is_vacant(const Stream& stream) noexcept {
  return stream.gone.load(std::memory_order_relaxed) && !stream.high.busy(std::memory_order_acquire);
}

// Null: none has rested. A stream with the old handle may have taken an entry out of the middle of the queue.
Stream* take_rested() noexcept {
  while (queue.count > kRest) {
    Stream& stream = streams[queue.index[queue.first]];
    queue.first = (queue.first + 1) % kStreams;
    --queue.count;
    stream.queued = false;
    if (is_vacant(stream)) return &stream;
  }
  return nullptr;
}

// An entry that no stream uses: one whose stream has gone, or a new one. Null when all are in use.
Stream* find_vacant() noexcept {
  if (Stream* rested = take_rested()) return rested;
  const std::uint32_t used = streams_used.load(std::memory_order_relaxed);
  if (used < kStreams) {
    streams[used].index = used;
    return &streams[used];
  }
  for (Stream& stream : streams)
    if (is_vacant(stream)) return &stream;
  return nullptr;
}

Stream* add(std::uintptr_t key, CUstream handle, Context& context, bool special, bool blocking) noexcept {
  const Context* hashed = special ? &context : nullptr;
  Locked lock(growing);
  if (Stream* found = look_up(key, hashed, false)) return found;
  // Drivers often reuse a handle at once: then its old entry is already in the right place.
  Stream* stream = look_up(key, hashed, true);
  if (stream && !is_vacant(*stream)) stream = nullptr;
  const bool placed = stream != nullptr;
  if (!placed && crowding >= kCrowded) rebuild();
  if (!placed) stream = find_vacant();
  if (!stream) {
    tell_too_many();
    return nullptr;
  }
  stream->handle = handle;
  stream->context = &context;
  stream->blocking = blocking;
  stream->key.store(key, std::memory_order_relaxed);
  stream->gone.store(false, std::memory_order_release);
  if (blocking) context.blocking_streams.fetch_add(1, std::memory_order_relaxed);
  if (stream->index == streams_used.load(std::memory_order_relaxed))
    streams_used.store(stream->index + 1, std::memory_order_release);
  if (!placed) put(table(), *stream);
  return stream;
}

Stream* special_stream(std::uintptr_t key, CUstream handle) noexcept {
  CUcontext current = nullptr;
  if (real().cuCtxGetCurrent(&current) != CUDA_SUCCESS || !current) return nullptr;
  if (latest && latest_key == key && latest_context == current && !latest->gone.load(std::memory_order_acquire))
    return latest;
  Context* context = current_context();
  if (!context) return nullptr;
  Stream* found = look_up(key, context, false);
  if (!found) found = add(key, handle, *context, true, true);
  if (found && key == kLegacyKey) context->legacy.store(found, std::memory_order_release);
  latest = found;
  latest_key = key;
  latest_context = current;
  return found;
}

Stream* real_stream(CUstream handle) noexcept {
  const auto key = reinterpret_cast<std::uintptr_t>(handle);
  if (latest && latest_key == key && latest->key.load(std::memory_order_relaxed) == key &&
      !latest->gone.load(std::memory_order_acquire))
    return latest;
  Stream* found = look_up(key, nullptr, false);
  if (!found) {
    CUcontext owner = nullptr;
    unsigned flags = 0;
    if (real().cuStreamGetCtx(handle, &owner) != CUDA_SUCCESS) return nullptr;
    Context* context = context_of(owner);
    if (!context) context = current_context();
    if (!context || real().cuStreamGetFlags(handle, &flags) != CUDA_SUCCESS) return nullptr;
    found = add(key, handle, *context, false, (flags & CU_STREAM_NON_BLOCKING) == 0);
  }
  latest = found;
  latest_key = key;
  latest_context = nullptr;
  return found;
}

}  // namespace

Stream* stream_of(CUstream handle, NullStream meaning) noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value > 2) return real_stream(handle);
  const bool per_thread = value == 2 || (value == 0 && meaning == NullStream::kPerThread);
  return per_thread ? special_stream(reinterpret_cast<std::uintptr_t>(&own_thread), stream_per_thread())
                    : special_stream(kLegacyKey, stream_legacy());
}

bool is_special(const Stream& stream) noexcept { return reinterpret_cast<std::uintptr_t>(stream.handle.get()) <= 2; }

bool own_special(const Stream& stream) noexcept {
  const std::uintptr_t key = stream.key.load(std::memory_order_relaxed);
  return key == kLegacyKey || key == reinterpret_cast<std::uintptr_t>(&own_thread);
}

std::uint32_t stream_count() noexcept { return streams_used.load(std::memory_order_acquire); }
Stream& stream_at(std::uint32_t index) noexcept { return streams[index]; }

Stream* known_stream(CUstream handle) noexcept {
  const auto key = reinterpret_cast<std::uintptr_t>(handle);
  return key > 2 ? look_up(key, nullptr, false) : nullptr;
}

void stream_is_gone(Stream& stream) noexcept {
  const Locked lock(growing);
  if (stream.queued || !is_vacant(stream)) return;
  queue.index[(queue.first + queue.count++) % kStreams] = static_cast<std::uint16_t>(stream.index);
  stream.queued = true;
}

void forget_streams() noexcept {
  for (std::uint32_t i = 0; i < streams_used.load(std::memory_order_relaxed); ++i) new (&streams[i]) Stream{};
  for (auto& each : tables)
    for (auto& place : each) place.store(nullptr, std::memory_order_relaxed);
  crowding = 0;
  queue.count = 0;
  streams_used.store(0, std::memory_order_relaxed);
  latest = nullptr;
  growing.unlock();
}

}  // namespace cotenant
