#include "interposer/graphs/made.h"

#include <algorithm>
#include <cstdlib>

#include "interposer/base/hash.h"
#include "interposer/base/spin.h"
#include "interposer/lifetime/attaching.h"

namespace cotenant {
namespace {

struct Kept : MadeGraph {
  Kept* next;
};

// Programs keep hundreds of graphs and launch each of them often.
constexpr std::size_t kRows = 256;
Spin lock;
Kept* rows[kRows];

Kept** row_of(cu::CUgraphExec exec) noexcept { return &rows[home_of(reinterpret_cast<std::uintptr_t>(exec), kRows)]; }

void discard(Kept* entry, bool context_ended) noexcept {
  if (entry->parts) GraphParts::end(entry->parts, context_ended);
  std::free(const_cast<std::uint32_t*>(entry->cuts));
  std::free(entry);
}

// Takes one out of the row for which `is` holds.
template <class Is>
Kept* unlink(Kept** row, Is is) noexcept {
  Locked locked(lock);
  for (Kept** at = row; *at; at = &(*at)->next)
    if (is(**at)) {
      Kept* found = *at;
      *at = found->next;
      return found;
    }
  return nullptr;
}

}  // namespace

void remember_graph(cu::CUgraphExec exec, const std::uint32_t* cuts, std::uint32_t count, GraphParts* parts) noexcept {
  // The handle of a graph that went with its context, perhaps.
  while (Kept* old = unlink(row_of(exec), [exec](const Kept& entry) { return entry.exec == exec; })) discard(old, true);
  auto* entry = static_cast<Kept*>(std::calloc(1, sizeof(Kept)));
  auto* own = static_cast<std::uint32_t*>(std::calloc(count + 1u, sizeof *cuts));
  if (!entry || !own) {
    std::free(entry);
    std::free(own);
    if (parts) GraphParts::end(parts, false);
    return;
  }
  std::copy(cuts, cuts + count, own);
  const Context* context = current_context();
  if (const Link* link = context ? context->gpu->link.load(std::memory_order_acquire) : nullptr)
    link->best_effort().graphGates.fetch_add(count, std::memory_order_relaxed);
  static_cast<MadeGraph&>(*entry) = {exec, context, count, own, parts};
  Locked locked(lock);
  entry->next = *row_of(exec);
  *row_of(exec) = entry;
}

const MadeGraph* made_graph(cu::CUgraphExec exec) noexcept {
  Locked locked(lock);
  const Kept* entry = *row_of(exec);
  while (entry && entry->exec != exec) entry = entry->next;
  return entry;
}

void forget_graph(cu::CUgraphExec exec) noexcept {
  if (Kept* entry = unlink(row_of(exec), [exec](const Kept& at) { return at.exec == exec; })) discard(entry, false);
}

void forget_graphs_in(const Context& context) noexcept {
  for (Kept*& row : rows)
    while (Kept* entry = unlink(&row, [&](const Kept& at) { return at.context == &context; })) discard(entry, true);
}

void forget_graphs() noexcept {
  lock.unlock();  // a thread of the parent may have held it
  std::fill(rows, rows + kRows, nullptr);
}

}  // namespace cotenant
