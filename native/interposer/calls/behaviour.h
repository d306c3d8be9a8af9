// Behaviour of a wrapper around the driver's function: Behaviour<E>::call takes the driver's arguments and returns
// the application's result. Each family of entry points has one template. The family of an entry, and its properties,
// are read off its name at compile time, because the driver's names are regular: Async or not, HtoD / DtoH / DtoD,
// _ptsz and _ptds for the per-thread default stream. An entry without a behaviour does not compile.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "interposer/base/clock.h"
#include "interposer/best_effort/best_effort.h"
#include "interposer/best_effort/outstanding.h"
#include "interposer/high/high.h"
#include "interposer/high/holding.h"
#include "interposer/high/publish.h"
#include "interposer/high/queue.h"
#include "interposer/high/snapshot.h"
#include "interposer/high/tail.h"
#include "interposer/high/words.h"
#include "interposer/lifetime/attachment.h"
#include "interposer/lifetime/gang.h"
#include "interposer/lookup/driver.h"
#include "interposer/lookup/entry.h"
#include "interposer/parking/closing.h"
#include "interposer/process/process.h"
#include "interposer/products/call.h"
#include "interposer/state/capture.h"
#include "interposer/state/gpu.h"

namespace cotenant {

template <Entry E>
struct Behaviour;

// Puts an entry into its family.
#define BEHAVES(symbol, family) \
  template <>                   \
  struct Behaviour<Entry::symbol> : family<Entry::symbol> {};

template <Entry E>
constexpr bool has_name(std::string_view part) noexcept {
  return Traits<E>::name.find(part) != std::string_view::npos;
}

template <Entry E>
constexpr NullStream null_stream() noexcept {
  // This is a constant because the compiler searched for the name on every launch when it was a plain return value: 130
  // instructions.
  constexpr bool kPerThread = has_name<E>("_ptsz") || has_name<E>("_ptds");
  return kPerThread ? NullStream::kPerThread : NullStream::kLegacy;
}

// The driver's function itself.
template <Entry E, class... A>
cu::CUresult driver_call(A... arguments) noexcept {
  return Traits<E>::driver()(arguments...);
}

// A driver call that may block until earlier work is done. How much work is not known, so the call's duration counts as
// time waited.
template <class Call>
cu::CUresult time_blocking_call(Call call) noexcept {
  if (role() != Role::kHigh) return call();
  const std::uint64_t since = now_ns();
  const std::uint32_t count = gpu_count();
  for (std::uint32_t i = 0; i < count; ++i) {
    high_waits(gpu_at(i));
    gpu_at(i).high.waiters.fetch_add(1, std::memory_order_relaxed);
  }
  const cu::CUresult result = call();
  for (std::uint32_t i = 0; i < count; ++i) {
    gpu_at(i).high.waiters.fetch_sub(1, std::memory_order_relaxed);
    high_note_blocked(gpu_at(i), since);
  }
  return result;
}

// An operation of a high client that is no work, and that the legacy stream's order puts behind work of other streams: when it
// is seen to be done, so is that work. Exists from before the driver call.
class BehindOthers {
 public:
  BehindOthers(cu::CUstream handle, NullStream meaning) noexcept
      : BehindOthers(role() == Role::kHigh && !is_capturing(handle, meaning) ? stream_of(handle, meaning) : nullptr) {}
  explicit BehindOthers(Stream* stream) noexcept {
    if (!stream || !stream->blocking || !is_behind_others(*stream)) return;
    stream_ = stream;
    high_begin(*stream, Work::kOrder);
  }
  BehindOthers(const BehindOthers&) = delete;
  BehindOthers& operator=(const BehindOthers&) = delete;

  // How much of its stream is done when it is. Before the driver call.
  [[nodiscard]] std::uint64_t settled(const Stream& stream) const noexcept {
    return stream.high.settled.load(std::memory_order_acquire) + (stream_ ? 1 : 0);
  }
  // After the driver call.
  cu::CUresult settle(cu::CUresult result) noexcept {
    if (stream_ && result == cu::CUDA_SUCCESS) high_settle(*stream_);
    else if (stream_) high_withdraw(*stream_);
    return result;
  }

 private:
  Stream* stream_{nullptr};
};

enum class HoldsUp { kNo, kYes };  // the driver may keep the caller until work before it is done

// Submits work to a stream: `call` is the driver call. The one place where both classes meet.
template <class Call>
cu::CUresult submit(cu::CUstream handle, NullStream meaning, Work work, Tail tail, const Submission& submission,
                    Call call, HoldsUp holds_up = HoldsUp::kNo) noexcept {
  if (is_capturing(handle, meaning)) {
    const TouchesMemory touches;  // the driver looks at pointers then
    return call();
  }
  Stream* stream = stream_of(handle, meaning);
  if (!stream) return call();
  if (role() == Role::kBestEffort) {
    if (product_call && note_product_launch(submission)) return cu::CUDA_SUCCESS;
    if (const cu::CUresult refused = may_use(*stream->context->gpu); refused != cu::CUDA_SUCCESS) return refused;
    const Admission admission = best_effort_before(*stream, submission);
    const cu::CUresult result = ranks_seen.load(std::memory_order_relaxed) ? may_use(*stream->context->gpu) : call();
    best_effort_after(admission);
    return result;
  }
  const TouchesMemory touches;  // of a service that sleeps: waits until its memory is back
  high_begin(*stream, work);
  if (submission.kind != Submission::Kind::kCopy) high_publish_kernel(*stream, submission);
  else if (submission.bus != Bus::kNone) high_publish_copy(*stream, submission);
  const std::uint64_t since = holds_up == HoldsUp::kYes ? now_ns() : kDidNotWait;
  std::optional<BlockedOn> blocked;
  if (holds_up == HoldsUp::kYes) blocked.emplace(*stream->context->gpu);
  const cu::CUresult result = call();
  blocked.reset();
  if (result != cu::CUDA_SUCCESS) {
    high_withdraw(*stream);
    return result;
  }
  high_settle(*stream);
  if (holds_up == HoldsUp::kYes)
    high_note_blocked(*stream->context->gpu, since, submission.bus == Bus::kIn ? submission.copy_ns : 0);
  if (words_wanted.load(std::memory_order_relaxed) != 0) {
    high_write_queue_word(*stream);
    high_write_tail(*stream, submission, tail);
  }
  return result;
}

}  // namespace cotenant
