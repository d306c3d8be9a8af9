#include "interposer/state/drained.h"

#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

bool are_streams_drained() noexcept {
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    Stream& stream = stream_at(i);
    if (stream.gone.load(std::memory_order_relaxed) || is_special(stream))
      continue;  // special streams: is_legacy_drained()
    if (real().cuStreamQuery(stream.handle) == cu::CUDA_ERROR_NOT_READY) return false;
  }
  return true;
}

// The driver looks the special streams up in the calling thread's current context.
bool is_legacy_drained() noexcept {
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    Context* context = stream_at(i).context;
    if (context->legacy.load(std::memory_order_acquire) != &stream_at(i)) continue;
    cu::CUcontext popped = nullptr;
    if (real().cuCtxPushCurrent_v2(context->handle.load()) != cu::CUDA_SUCCESS) continue;
    const bool busy = real().cuStreamQuery(cu::stream_legacy()) == cu::CUDA_ERROR_NOT_READY;
    if (real().cuCtxPopCurrent_v2(&popped) != cu::CUDA_SUCCESS || busy) return false;
  }
  return true;
}

}  // namespace

bool is_drained() noexcept {
  const BesideCaptures beside;
  return are_streams_drained() && is_legacy_drained();
}

}  // namespace cotenant
