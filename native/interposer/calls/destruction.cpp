#include "interposer/calls/destruction.h"

#include "interposer/best_effort/hold_word.h"
#include "interposer/best_effort/marks.h"
#include "interposer/best_effort/outstanding.h"
#include "interposer/graphs/stoppable_graphs.h"
#include "interposer/high/high.h"
#include "interposer/high/tail.h"
#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"
#include "interposer/process/process.h"
#include "interposer/state/capture.h"
#include "interposer/state/gpu.h"
#include "interposer/variants/variants.h"

namespace cotenant {
namespace {

using namespace cu;

enum class Its { kEnd, kContextsEnd };

// The work of a stream goes on when it is destroyed. Only a word can show its end then.
bool goes_on(Stream& stream) noexcept {
  if (role() != Role::kHigh || !stream.high.busy(std::memory_order_acquire)) return false;
  if (is_special(stream) || is_capturing(stream.handle, NullStream::kLegacy)) return false;
  const BesideCaptures beside;
  if (real().cuStreamQuery(stream.handle) != CUDA_ERROR_NOT_READY) return false;
  high_write_last_word(stream);
  return true;
}

void forget(Stream& stream, Its its) noexcept {
  const bool runs = its == Its::kEnd && goes_on(stream);
  stream.gone.store(true, std::memory_order_seq_cst);
  wait_for_marks(stream);
  capture_abandoned(stream);
  if (!runs) high_observe(stream, stream.high.begun.load(std::memory_order_relaxed), kSinceUnknown);
  best_effort_note_drained(stream);
  if (stream.blocking) stream.context->blocking_streams.fetch_sub(1, std::memory_order_relaxed);
  if (!is_special(stream)) stream_is_gone(stream);
}

}  // namespace

void forget_stream(CUstream handle) noexcept {
  if (Stream* found = known_stream(handle)) forget(*found, Its::kEnd);
}

namespace {

void forget_streams_of(const Context& context) noexcept {
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    Stream& stream = stream_at(i);
    if (stream.context != &context) continue;
    if (!stream.gone.load(std::memory_order_acquire)) forget(stream, Its::kContextsEnd);
    else high_observe(stream, stream.high.begun.load(std::memory_order_relaxed), kSinceUnknown);
    event_marks_end(stream.lane.events);
  }
}

}  // namespace

void context_ends(CUcontext handle) noexcept {
  Context* context = context_of(handle);
  if (!context) return;
  if (const Link* link = context->gpu->link.load(std::memory_order_acquire); link && role() == Role::kBestEffort)
    best_effort_open(*link);  // destroying waits for what is parked
  forget_streams_of(*context);
  forget_variants_in(handle);
  forget_graphs_in(*context);
  context->gpu->best_effort.estimates.context_ends(handle);
  pages_end(context->pages);
  context->legacy.store(nullptr, std::memory_order_release);
  context->words_device.store(0, std::memory_order_release);
  context->ended.store(true, std::memory_order_release);
}

void primary_ended(CUdevice device) noexcept {
  if (const CUcontext primary = primary_context(device)) context_ends(primary);
}

}  // namespace cotenant
