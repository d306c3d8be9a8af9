#include "interposer/state/events.h"

#include "interposer/base/hash.h"
#include "interposer/base/spin.h"

namespace cotenant {
namespace {

// A small cache of a few sets with a few places each. An event that is evicted from its set becomes unknown, and
// another call shows its completion.
constexpr std::uint32_t kSets = 1024;
constexpr int kWays = 8;

struct Set {
  Spin lock;
  std::uint32_t next{0};
  struct {
    cu::CUevent event;
    EventMark mark;
  } of[kWays]{};
};

Set sets[kSets];

Set& set_of(cu::CUevent event) noexcept { return sets[home_of(reinterpret_cast<std::uintptr_t>(event), kSets)]; }

}  // namespace

void event_recorded(cu::CUevent event, EventMark mark) noexcept {
  Set& set = set_of(event);
  Locked lock(set.lock);
  for (auto& place : set.of)
    if (place.event == event) {
      place.mark = mark;
      return;
    }
  for (auto& place : set.of)
    if (!place.event) {
      place = {event, mark};
      return;
    }
  set.of[set.next++ % kWays] = {event, mark};
}

EventMark event_mark(cu::CUevent event) noexcept {
  Set& set = set_of(event);
  Locked lock(set.lock);
  for (const auto& place : set.of)
    if (place.event == event) return place.mark;
  return {nullptr, 0};
}

void event_destroyed(cu::CUevent event) noexcept {
  Set& set = set_of(event);
  Locked lock(set.lock);
  for (auto& place : set.of)
    if (place.event == event) place = {nullptr, {nullptr, 0}};
}

}  // namespace cotenant
