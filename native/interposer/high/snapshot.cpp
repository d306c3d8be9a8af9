#include "interposer/high/snapshot.h"

#include <sys/mman.h>

#include <algorithm>

#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"
#include "interposer/state/capture.h"

namespace cotenant {

bool has_others_before(const Stream& stream) noexcept {
  const Context& context = *stream.context;
  const Stream* legacy = context.legacy.load(std::memory_order_acquire);
  if (!stream.blocking || !legacy) return false;
  if (legacy != &stream) return legacy->high.busy(std::memory_order_acquire);
  bool behind = false;
  each_busy(context, Which::kBlocking, [&](const Stream& other) { behind = behind || &other != &stream; });
  return behind;
}

bool is_done(Stream& stream) noexcept {
  if (is_special(stream) && !own_special(stream)) return false;
  const MarksAnother marks(stream);
  const BesideCaptures beside;
  return marks.is_allowed() && real().cuStreamQuery(stream.handle) == cu::CUDA_SUCCESS;
}

Snapshot::~Snapshot() {
  if (parts_ != few_) munmap(parts_, kStreams * sizeof(Part));
}

void Snapshot::take(const Context& context, Which which) noexcept {
  count_ = 0;
  each_busy(context, which, [&](Stream& stream) {
    if (stream.high.busy(std::memory_order_acquire))
      add({&stream, stream.high.settled.load(std::memory_order_acquire)});
  });
}

void Snapshot::keep_done() noexcept {
  Part* const last = std::remove_if(parts_, parts_ + count_, [](const Part& part) { return !is_done(*part.stream); });
  count_ = static_cast<std::uint32_t>(last - parts_);
}

void Snapshot::add(const Part& part) noexcept {
  if (count_ == kFew && parts_ == few_) {
    void* at = mmap(nullptr, kStreams * sizeof(Part), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return;
    parts_ = static_cast<Part*>(at);
    std::copy(few_, few_ + kFew, parts_);
  }
  if (count_ < kStreams) parts_[count_++] = part;
}

}  // namespace cotenant
