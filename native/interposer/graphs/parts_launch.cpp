#include "interposer/graphs/parts_launch.h"

#include <algorithm>

#include "generated/rules.h"
#include "interposer/best_effort/best_effort.h"
#include "interposer/best_effort/hold_word.h"
#include "interposer/graphs/stoppable_graphs.h"
#include "interposer/lifetime/gang.h"
#include "interposer/lookup/entry.h"
#include "interposer/process/process.h"
#include "interposer/state/capture.h"

namespace cotenant {

using namespace cu;

namespace {

// The legacy stream and the blocking ones are ordered with each other: what another thread submits to one of them comes
// before all of a graph in another or after all of it, and between no parts of it.
bool is_ordered_with_other_threads(const Stream& stream) noexcept {
  const Context& context = *stream.context;
  return stream.blocking && context.blocking_streams.load(std::memory_order_relaxed) > 1 &&
         context.legacy.load(std::memory_order_relaxed) && context.blocking_threads.load(std::memory_order_relaxed);
}

}  // namespace

GraphParts* PartsLaunch::parts_of(CUgraphExec exec, CUstream stream, NullStream meaning) noexcept {
  if (role() != Role::kBestEffort) return nullptr;
  const StoppableGraph* made = stoppable_graph_of(exec);
  return made && made->parts && !is_capturing(stream, meaning) ? made->parts : nullptr;
}

PartsLaunch::PartsLaunch(CUgraphExec exec, CUstream stream, NullStream meaning) noexcept
    : handle_(stream),
      parts_(parts_of(exec, stream, meaning)),
      stream_(parts_ ? stream_of(stream, meaning) : nullptr),
      taken_(stream_) {
  if (!parts_) return;
  if (parts_->last_ && parts_->last_ != stream_) {
    const auto wait = meaning == NullStream::kPerThread ? real().cuStreamWaitEvent_ptsz : real().cuStreamWaitEvent;
    wait(handle_, parts_->done_, 0);
  }
  // The event can't be recorded there: later launches would not wait for this one.
  if (!stream_ || stream_->context != parts_->context_) {
    parts_->give_up("it is launched into another context");
    parts_ = nullptr;
  }
}

PartsLaunch::~PartsLaunch() {
  if (!parts_) return;
  real().cuEventRecord(parts_->done_, stream_->handle);
  parts_->last_ = stream_;
}

bool PartsLaunch::in_parts(Function launch, CUresult& result) noexcept {
  if (!parts_ || parts_->count_ == 0) return false;
  if (result = may_use(*stream_->context->gpu); result != CUDA_SUCCESS) return true;
  ++parts_->launches_;
  const Link* link = stream_->context->gpu->link.load(std::memory_order_acquire);
  if (!link || !is_best_effort_gated(*link) || is_ordered_with_other_threads(*stream_)) return false;
  if (!parts_->bring_up_to_date()) return false;
  parts_->divide_long(std::max(rule::chunk_us(link->region->settings), kMinBetweenStopsUs));
  for (std::uint32_t i = 0; i < parts_->count_; ++i) {
    const GraphParts::Part& part = parts_->part_[i];
    const auto kind = i == 0 ? Submission::Kind::kGraph : Submission::Kind::kGraphPart;
    const Admission admission = best_effort_before(*stream_, {kind, 0, nullptr, Bus::kNone, part.estimate});
    result = launch(part.exec, handle_);
    best_effort_after(admission);
    if (result != CUDA_SUCCESS) return i > 0;
  }
  return true;
}

}  // namespace cotenant
