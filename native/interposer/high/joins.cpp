#include "interposer/high/joins.h"

#include <sys/mman.h>

namespace cotenant {
namespace {

void release_pages(HighStream& own) noexcept {
  while (JoinPage* page = own.more_joins) {
    own.more_joins = page->next;
    munmap(page, sizeof *page);
  }
}

// Null: there is no memory.
Join* add_page(HighStream& own) noexcept {
  void* at = mmap(nullptr, sizeof(JoinPage), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* page = static_cast<JoinPage*>(at);
  page->next = own.more_joins;
  own.more_joins = page;
  return &page->joins[0];
}

}  // namespace

void add_join(HighStream& own, const Join& join) noexcept {
  if (own.joined == 0) release_pages(own);
  // A program that queues its next step has a join of each step, so the earlier one stays. Without a free place the oldest
  // of the same stream goes first: the later one shows its work, too.
  Join* oldest = &own.joins[0];
  Join* same = nullptr;
  Join* free = nullptr;
  bool known = false;
  each_join(own, [&](Join& each) {
    if (!each.other) {
      if (!free) free = &each;
      return;
    }
    if (each.at < oldest->at) oldest = &each;
    if (each.other != join.other) return;
    known = known || each.upto == join.upto;  // the earlier position in this stream shows it
    if (!same || each.at < same->at) same = &each;
  });
  if (known) return;
  if (!free && !same) free = add_page(own);
  if (free) ++own.joined;
  *(free ? free : same ? same : oldest) = join;
}

}  // namespace cotenant
