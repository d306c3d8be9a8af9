#include "interposer/graphs/stoppable_graphs.h"

#include <algorithm>
#include <cstdlib>

#include "interposer/base/hash.h"
#include "interposer/base/spin.h"
#include "interposer/lifetime/attachment.h"

namespace cotenant {
namespace {

struct GraphEntry : StoppableGraph {
  GraphEntry* next;
};

// Programs keep hundreds of graphs and launch each of them often.
constexpr std::size_t kRows = 256;
Spin lock;
GraphEntry* rows[kRows];

GraphEntry** row_of(cu::CUgraphExec exec) noexcept {
  return &rows[home_of(reinterpret_cast<std::uintptr_t>(exec), kRows)];
}

void discard(GraphEntry* entry, bool context_ended) noexcept {
  if (entry->parts) GraphParts::end(entry->parts, context_ended);
  std::free(const_cast<std::uint32_t*>(entry->cuts));
  std::free(entry);
}

// Takes one out of the row for which `is` holds.
template <class Is>
GraphEntry* unlink(GraphEntry** row, Is is) noexcept {
  Locked locked(lock);
  for (GraphEntry** at = row; *at; at = &(*at)->next)
    if (is(**at)) {
      GraphEntry* found = *at;
      *at = found->next;
      return found;
    }
  return nullptr;
}

}  // namespace

void remember_graph(cu::CUgraphExec exec, const std::uint32_t* cuts, std::uint32_t count, GraphParts* parts) noexcept {
  // The old entry may be of a graph that was destroyed with its context.
  while (GraphEntry* old = unlink(row_of(exec), [exec](const GraphEntry& entry) { return entry.exec == exec; }))
    discard(old, true);
  auto* entry = static_cast<GraphEntry*>(std::calloc(1, sizeof(GraphEntry)));
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
  static_cast<StoppableGraph&>(*entry) = {exec, context, count, own, parts};
  Locked locked(lock);
  entry->next = *row_of(exec);
  *row_of(exec) = entry;
}

const StoppableGraph* stoppable_graph_of(cu::CUgraphExec exec) noexcept {
  Locked locked(lock);
  const GraphEntry* entry = *row_of(exec);
  while (entry && entry->exec != exec) entry = entry->next;
  return entry;
}

void forget_graph(cu::CUgraphExec exec) noexcept {
  if (GraphEntry* entry = unlink(row_of(exec), [exec](const GraphEntry& at) { return at.exec == exec; }))
    discard(entry, false);
}

void forget_graphs_in(const Context& context) noexcept {
  for (GraphEntry*& row : rows)
    while (GraphEntry* entry = unlink(&row, [&](const GraphEntry& at) { return at.context == &context; }))
      discard(entry, true);
}

void forget_graphs() noexcept {
  lock.unlock();  // a thread of the parent may have held it
  std::fill(rows, rows + kRows, nullptr);
}

}  // namespace cotenant
