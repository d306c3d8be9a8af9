#include "interposer/state/events.h"

#include <sys/mman.h>

#include "interposer/base/hash.h"
#include "interposer/base/spin.h"

namespace cotenant {
namespace {

constexpr std::uint32_t kSets = 1024;
constexpr std::uint32_t kWays = 8;

struct Place {
  cu::CUevent event;
  EventMark mark;
  bool in_graph;
};

// Further places of a set, in a page of memory. It stays, because a program that had so many events has them again.
struct More {
  static constexpr std::uint32_t kPlaces = 4096 / sizeof(Place) - 1;
  More* next;
  Place of[kPlaces];
};
static_assert(sizeof(More) <= 4096);

struct Set {
  Spin lock;
  std::uint32_t next{0};
  Place of[kWays]{};
  More* more{nullptr};
};

Set sets[kSets];

Set& set_of(cu::CUevent event) noexcept { return sets[home_of(reinterpret_cast<std::uintptr_t>(event), kSets)]; }

// Null: no place has this event, which is null for a free place.
Place* find(Set& set, cu::CUevent event) noexcept {
  for (Place& place : set.of)
    if (place.event == event) return &place;
  for (More* more = set.more; more; more = more->next)
    for (Place& place : more->of)
      if (place.event == event) return &place;
  return nullptr;
}

Place& vacant(Set& set) noexcept {
  if (Place* free = find(set, nullptr)) return *free;
  void* at = mmap(nullptr, sizeof(More), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  // An event that loses its place becomes unknown.
  if (at == MAP_FAILED) return set.of[set.next++ % kWays];
  auto* more = static_cast<More*>(at);
  more->next = set.more;
  set.more = more;
  return more->of[0];
}

}  // namespace

void event_recorded(cu::CUevent event, EventMark mark) noexcept {
  Set& set = set_of(event);
  Locked lock(set.lock);
  Place* place = find(set, event);
  if (place && place->in_graph) return;
  (place ? *place : vacant(set)) = {event, mark, false};
}

EventMark event_mark(cu::CUevent event) noexcept {
  Set& set = set_of(event);
  Locked lock(set.lock);
  const Place* place = find(set, event);
  return place ? place->mark : EventMark{nullptr, 0};
}

void event_destroyed(cu::CUevent event) noexcept {
  Set& set = set_of(event);
  Locked lock(set.lock);
  if (Place* place = find(set, event)) *place = {};
}

void event_in_graph(cu::CUevent event) noexcept {
  Set& set = set_of(event);
  Locked lock(set.lock);
  Place* place = find(set, event);
  (place ? *place : vacant(set)) = {event, {nullptr, 0}, true};
}

}  // namespace cotenant
