// Which work of other streams is done when a stream has come so far. A stream may join any number of others: a program with
// many streams waits for all of them in one.
#pragma once

#include <cstdint>

#include "interposer/state/streams.h"

namespace cotenant {

// Further joins of a stream. A page of memory, made known when the first ones do not suffice.
struct JoinPage {
  static constexpr std::uint32_t kJoins = 4096 / sizeof(Join) - 1;
  JoinPage* next;
  Join joins[kJoins];
};
static_assert(sizeof(JoinPage) <= 4096);

// Under HighGpu::lock, like the next ones: visit(join) for each place, whether or not it is in use.
template <class Visit>
void each_join(HighStream& own, Visit&& visit) noexcept {
  for (Join& join : own.joins) visit(join);
  for (JoinPage* page = own.more_joins; page; page = page->next)
    for (Join& join : page->joins) visit(join);
}

// Not while each_join() visits joins of the stream.
void add_join(HighStream& own, const Join& join) noexcept;

}  // namespace cotenant
