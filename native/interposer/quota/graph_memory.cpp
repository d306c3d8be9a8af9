#include "interposer/quota/graph_memory.h"

#include <algorithm>
#include <atomic>

#include "interposer/base/room.h"
#include "interposer/base/spin.h"
#include "interposer/lookup/entry.h"
#include "interposer/quota/quota.h"

namespace cotenant {
namespace {

using namespace cu;

constexpr int kDeepest = 8;  // levels of child graphs
constexpr std::size_t kMaxNodes = 200'000;

struct Allocated {
  CUdeviceptr at;
  std::uint64_t bytes;
};

// Visits the nodes in the order in which they were added. A node's dependencies come before it, unless the application
// adds the dependencies later. In that case the sum can only be too large.
class Peak {
 public:
  void add(CUgraph graph, int depth) noexcept {
    std::size_t count = 0;
    if (real().cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS || count == 0 || count > kMaxNodes) return;
    Room<CUgraphNode> nodes(count);
    Room<Allocated> live(count);
    if (!nodes.holds(count) || !live.holds(count) || real().cuGraphGetNodes(graph, nodes.at(), &count) != CUDA_SUCCESS)
      return;
    std::size_t lives = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      CUgraphNodeType type{};
      CUgraph child = nullptr;
      CUDA_MEM_ALLOC_NODE_PARAMS made{};
      CUdeviceptr freed = 0;
      if (real().cuGraphNodeGetType(nodes[i], &type) != CUDA_SUCCESS) continue;
      if (type == CU_GRAPH_NODE_TYPE_GRAPH && depth < kDeepest &&
          real().cuGraphChildGraphNodeGetGraph(nodes[i], &child) == CUDA_SUCCESS)
        add(child, depth + 1);
      if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && real().cuGraphMemAllocNodeGetParams &&
          real().cuGraphMemAllocNodeGetParams(nodes[i], &made) == CUDA_SUCCESS &&
          made.poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
        live[static_cast<std::uint32_t>(lives++)] = {made.dptr, made.bytesize};
        now_ += made.bytesize;
        most = {std::max(most.bytes, now_), made.poolProps.location.id};
      }
      if (type == CU_GRAPH_NODE_TYPE_MEM_FREE && real().cuGraphMemFreeNodeGetParams &&
          real().cuGraphMemFreeNodeGetParams(nodes[i], &freed) == CUDA_SUCCESS) {
        Allocated* const end = live.at() + lives;
        Allocated* const found = std::find_if(live.at(), end, [&](const Allocated& each) { return each.at == freed; });
        if (found == end) continue;
        now_ -= found->bytes;
        *found = end[-1];
        --lives;
      }
    }
  }
  GraphMemory most{0, 0};

 private:
  std::uint64_t now_{0};
};

struct Known {
  std::atomic<CUgraphExec> exec{nullptr};
  CUdevice device{0};
};

// If a program has more graphs than these, the driver is asked after every launch of a graph.
constexpr std::uint32_t kKnown = 256;
Known known[kKnown];
std::atomic<std::uint32_t> used{0};  // places that were ever occupied
std::atomic<bool> overflown{false};
Spin noting;

Known* known_exec(CUgraphExec exec) noexcept {
  for (std::uint32_t i = 0; i < used.load(std::memory_order_acquire); ++i)
    if (known[i].exec.load(std::memory_order_relaxed) == exec) return &known[i];
  return nullptr;
}

}  // namespace

GraphMemory memory_of(CUgraph graph) noexcept {
  Peak peak;
  if (graph) peak.add(graph, 0);
  return peak.most;
}

void graph_memory_made(CUgraphExec exec, const GraphMemory& memory) noexcept {
  if (memory.bytes == 0) return;
  Locked lock(noting);
  Known* place = known_exec(nullptr);
  const std::uint32_t count = used.load(std::memory_order_relaxed);
  if (!place && count < kKnown) place = &known[count];
  if (!place) return overflown.store(true, std::memory_order_relaxed);
  place->device = memory.device;
  place->exec.store(exec, std::memory_order_relaxed);
  if (place == &known[count]) used.store(count + 1, std::memory_order_release);
}

void graph_memory_launched(CUgraphExec exec) noexcept {
  if (used.load(std::memory_order_relaxed) == 0) return;
  if (const Known* found = known_exec(exec)) look_at_graph_memory(found->device);
  else if (overflown.load(std::memory_order_relaxed)) look_at_graph_memory(known[0].device);
}

void graph_memory_ended(CUgraphExec exec) noexcept {
  Known* found = known_exec(exec);
  if (!found) return;
  found->exec.store(nullptr, std::memory_order_relaxed);
  look_at_graph_memory(found->device);
}

void look_at_graph_memory(CUdevice device) noexcept {
  cuuint64_t bytes = 0;
  if (real().cuDeviceGetGraphMemAttribute &&
      real().cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes) == CUDA_SUCCESS)
    quota_graphs_hold(bytes);
}

void forget_graph_memory() noexcept {
  for (Known& each : known) each.exec.store(nullptr, std::memory_order_relaxed);
  used.store(0, std::memory_order_relaxed);
  overflown.store(false, std::memory_order_relaxed);
  noting.unlock();
}

}  // namespace cotenant
