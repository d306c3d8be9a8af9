#include "interposer/best_effort/slices.h"

namespace cotenant {

void note_slice(Slice& slice, protocol::BestEffortSlot& slot, bool open, std::uint64_t begun_ns,
                std::uint64_t now) noexcept {
  if (open) {
    if (slice.opened == 0) slice = {now, 0, slot.finishedNs.load(std::memory_order_relaxed)};
    if (slice.began == 0) slice.began = begun_ns;
    return;
  }
  if (slice.opened == 0) return;
  const std::uint64_t number = slot.slices.load(std::memory_order_relaxed);
  const std::uint64_t finished = slot.finishedNs.load(std::memory_order_relaxed);
  auto* to = &slot.sliceRecords[number % protocol::SLICE_RECORDS * protocol::SLICE_RECORD_WORDS];
  to[0].store(slice.opened, std::memory_order_relaxed);
  to[1].store(slice.began, std::memory_order_relaxed);
  to[2].store(now, std::memory_order_relaxed);
  to[3].store(finished > slice.finished_before ? finished - slice.finished_before : 0, std::memory_order_relaxed);
  // The agent reads the record when it sees this number.
  slot.slices.store(number + 1, std::memory_order_release);
  slice = {};
}

}  // namespace cotenant
