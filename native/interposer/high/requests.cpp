#include "interposer/high/requests.h"

#include <atomic>

#include "gate/histogram.h"
#include "interposer/high/holding.h"
#include "interposer/process/process.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

using protocol::HighSlot;
using Histogram = decltype(HighSlot::e2e);

// Whoever changes `handle` from or to 0 has the place. The other members are written only by whoever has its handle. They are
// atomic because a place may be taken over from a thread that still uses it.
struct Place {
  std::atomic<std::uint64_t> handle{0};  // 0: free
  std::atomic<std::uint64_t> begun{0};  // ns, as the next two
  std::atomic<std::uint64_t> first{0};  // the first progress; 0: none yet
  std::atomic<std::uint64_t> last{0};  // the latest one
  std::atomic<std::uint64_t> units{0};  // in all
};

constexpr std::uint32_t kTries = 16;  // places looked at for a free one when there may be none

Place places[kRequestPlaces];
std::atomic<std::uint64_t> begun_in_all{0};
std::atomic<std::uint32_t> open{0};

Place& place_of(std::uint64_t handle) noexcept { return places[handle % kRequestPlaces]; }

// Calls `use` with the slot of this process on each GPU that it uses, or with that of its reports for other processes. A process
// that is not a high client, or has no slot yet, counts nothing.
template <typename Use>
void each_slot(Use use) noexcept {
  if (decided_role.load(std::memory_order_relaxed) != Role::kHigh) return;
  for (std::uint32_t i = 0; i < gpu_count(); ++i)
    if (const Link* link = gpu_at(i).link.load(std::memory_order_acquire)) use(link->high());
  if (HighSlot* slot = report_slot()) use(*slot);
}

// A slot on a GPU has the count from the helper thread.
void count_open(std::uint32_t change) noexcept {
  const std::uint32_t now = open.fetch_add(change, std::memory_order_relaxed) + change;
  if (HighSlot* slot = report_slot()) slot->requestsOpen.store(now, std::memory_order_relaxed);
}

constexpr std::uint32_t kOneLess = ~std::uint32_t{0};

void count(Histogram HighSlot::* histogram, std::uint64_t ns) noexcept {
  each_slot([&](HighSlot& slot) {
    (slot.*histogram)[bucket_of(ns)].fetch_add(1, std::memory_order_relaxed);
    slot.requestValues.fetch_add(1, std::memory_order_release);  // the agent reads the histograms when this has grown
  });
}

void add(std::atomic<std::uint64_t> HighSlot::* counter) noexcept {
  each_slot([&](HighSlot& slot) { (slot.*counter).fetch_add(1, std::memory_order_relaxed); });
}

// Clock readings of two threads may come in either order.
std::uint64_t between(std::uint64_t from, std::uint64_t to) noexcept { return to > from ? to - from : 0; }

bool release(Place& place, std::uint64_t handle) noexcept {
  if (!place.handle.compare_exchange_strong(handle, 0, std::memory_order_acq_rel)) return false;
  count_open(kOneLess);
  return true;
}

// A handle tells the place, and which request it is, counted from 1.
std::uint64_t handle_at(std::uint64_t number, std::uint64_t at) noexcept {
  return number * kRequestPlaces + at % kRequestPlaces;
}

std::uint64_t take_place(std::uint64_t number) noexcept {
  // Requests that last may have many places side by side.
  const bool full = open.load(std::memory_order_relaxed) >= kRequestPlaces;
  for (std::uint32_t i = 0; i < (full ? kTries : kRequestPlaces); ++i) {
    const std::uint64_t handle = handle_at(number, number + i);
    std::uint64_t free = 0;
    if (place_of(handle).handle.compare_exchange_strong(free, handle, std::memory_order_acq_rel)) return handle;
  }
  const std::uint64_t handle = handle_at(number, number);
  if (place_of(handle).handle.exchange(handle, std::memory_order_acq_rel) != 0) {
    count_open(kOneLess);
    add(&HighSlot::requestsForgotten);
  }
  return handle;
}

}  // namespace

std::uint64_t request_begins(std::uint64_t now) noexcept {
  const std::uint64_t handle = take_place(1 + begun_in_all.fetch_add(1, std::memory_order_relaxed));
  count_open(1);
  Place& place = place_of(handle);
  place.begun.store(now, std::memory_order_relaxed);
  place.first.store(0, std::memory_order_relaxed);
  place.last.store(0, std::memory_order_relaxed);
  place.units.store(0, std::memory_order_relaxed);
  // A process that has not asked for the driver has not decided about its role yet.
  if (role() != Role::kHigh) return handle;
  for (std::uint32_t i = 0; i < gpu_count(); ++i) high_request_begins(gpu_at(i));
  report_requests();
  return handle;
}

void request_progresses(std::uint64_t handle, std::uint32_t units, std::uint64_t now) noexcept {
  Place& place = place_of(handle);
  if (handle == 0 || units == 0 || place.handle.load(std::memory_order_acquire) != handle) return;
  const std::uint64_t before = place.last.exchange(now, std::memory_order_relaxed);
  place.units.fetch_add(units, std::memory_order_relaxed);
  if (before == 0) {
    place.first.store(now, std::memory_order_relaxed);
    count(&HighSlot::ttft, between(place.begun.load(std::memory_order_relaxed), now));
  } else {
    count(&HighSlot::itl, between(before, now));
  }
}

void request_ends(std::uint64_t handle, std::uint64_t now) noexcept {
  Place& place = place_of(handle);
  const std::uint64_t begun = place.begun.load(std::memory_order_relaxed);
  const std::uint64_t first = place.first.load(std::memory_order_relaxed);
  const std::uint64_t last = place.last.load(std::memory_order_relaxed);
  const std::uint64_t units = place.units.load(std::memory_order_relaxed);
  if (handle == 0 || !release(place, handle)) return;
  count(&HighSlot::e2e, between(begun, now));
  if (units > 1) count(&HighSlot::tpot, between(first, last) / (units - 1));
}

void request_fails(std::uint64_t handle) noexcept {
  if (handle != 0 && release(place_of(handle), handle)) add(&HighSlot::requestsFailed);
}

void publish_open_requests(Gpu& gpu) noexcept {
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (link) link->high().requestsOpen.store(open.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace cotenant
