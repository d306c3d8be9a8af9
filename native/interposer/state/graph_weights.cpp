#include "interposer/state/graph_weights.h"

#include <algorithm>
#include <atomic>

#include "interposer/base/hash.h"
#include "interposer/kernels/graph_nodes.h"
#include "interposer/kernels/launch_shape.h"
#include "interposer/lookup/entry.h"
#include "interposer/state/events.h"

namespace cotenant {
namespace {

// Key and weight are in one word, so no reader sees half of an entry. A graph that finds no free place among a few
// overwrites the first one: the overwritten graph then counts as one submission.
constexpr std::uint32_t kPlaces = 4096;
constexpr std::uint32_t kTries = 8;
constexpr std::uint64_t kWeightBits = 20;
constexpr std::uint64_t kMaxWeight = (std::uint64_t{1} << kWeightBits) - 1;
std::atomic<std::uint64_t> places[kPlaces];

bool has_key(std::uint64_t word, std::uint64_t key) noexcept { return word >> kWeightBits == key >> kWeightBits; }

std::atomic<std::uint64_t>& place_at(std::uint64_t key, std::uint32_t tries) noexcept {
  return places[(home_of(key, kPlaces) + tries) % kPlaces];
}

void note_event(void*, cu::CUgraphNode node, cu::CUgraphNodeType type) {
  cu::CUevent event = nullptr;
  if (type == cu::CU_GRAPH_NODE_TYPE_EVENT_RECORD && real().cuGraphEventRecordNodeGetEvent &&
      real().cuGraphEventRecordNodeGetEvent(node, &event) == cu::CUDA_SUCCESS)
    event_in_graph(event);
}

}  // namespace

void note_graph_events(cu::CUgraph graph) noexcept { static_cast<void>(visit_nodes(graph, note_event, nullptr)); }

void note_graph_weight(cu::CUgraphExec exec, cu::CUgraph graph) noexcept {
  std::size_t nodes = 0;
  if (real().cuGraphGetNodes(graph, nullptr, &nodes) != cu::CUDA_SUCCESS) return;
  const std::uint64_t key = graph_shape(exec).key();
  const std::uint64_t word = (key >> kWeightBits << kWeightBits) | std::min<std::uint64_t>(nodes, kMaxWeight);
  for (std::uint32_t i = 0; i < kTries; ++i) {
    auto& place = place_at(key, i);
    const std::uint64_t known = place.load(std::memory_order_relaxed);
    if (known == 0 || has_key(known, key)) return place.store(word, std::memory_order_relaxed);
  }
  place_at(key, 0).store(word, std::memory_order_relaxed);
}

std::uint32_t graph_weight(std::uint64_t key) noexcept {
  for (std::uint32_t i = 0; i < kTries; ++i) {
    const std::uint64_t known = place_at(key, i).load(std::memory_order_relaxed);
    if (known != 0 && has_key(known, key)) return static_cast<std::uint32_t>(known & kMaxWeight);
  }
  return 0;
}

}  // namespace cotenant
