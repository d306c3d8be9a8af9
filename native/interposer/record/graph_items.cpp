#include <algorithm>
#include <cstdlib>

#include "interposer/kernels/graph_nodes.h"
#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/copy_arguments.h"
#include "interposer/lookup/entry.h"
#include "interposer/record/graph_items.h"
#include "interposer/record/pools.h"

namespace cotenant::record {
namespace {

// The items of a graph that were read so far.
class Items {
 public:
  Items() = default;
  ~Items() { free(of_); }
  Items(const Items&) = delete;
  Items& operator=(const Items&) = delete;

  void put(const Item& item) noexcept {
    if (used_ == room_) {
      void* more = realloc(of_, (room_ * 2 + 64) * sizeof(Item));
      if (!more) return void(whole_ = false);
      of_ = static_cast<Item*>(more);
      room_ = room_ * 2 + 64;
    }
    of_[used_++] = item;
  }
  void mark_incomplete() noexcept { whole_ = false; }
  // Under `tape_lock`.
  void give(Graph& graph) const noexcept {
    if (!whole_ || used_ > Tape::kItems - tape.items_used) return;
    graph.first = tape.items_used;
    graph.count = used_;
    std::copy(of_, of_ + used_, tape.items + tape.items_used);
    tape.items_used += used_;
    graph.known = true;
  }

 private:
  Item* of_{nullptr};
  std::uint32_t used_{0};
  std::uint32_t room_{0};
  bool whole_{true};
};

void read_kernel(Items& into, cu::CUgraphNode node) noexcept {
  LaunchShape shape{};
  if (!launch_of(node, shape)) return into.mark_incomplete();
  Locked locked(tape_lock);
  if (const Kernel* kernel = kernel_of(shape))
    into.put({Kind::kKernel, static_cast<std::uint32_t>(kernel - tape.kernels), 0});
  else into.mark_incomplete();
}

void read_copy(Items& into, cu::CUgraphNode node) noexcept {
  cu::CUDA_MEMCPY3D p{};
  if (real().cuGraphMemcpyNodeGetParams(node, &p) != cu::CUDA_SUCCESS) return;
  const auto on_host = [](cu::CUmemorytype type, cu::CUdeviceptr address) {
    return type == cu::CU_MEMORYTYPE_HOST || (type == cu::CU_MEMORYTYPE_UNIFIED && copy::is_host(address));
  };
  const bool in = on_host(p.srcMemoryType, p.srcDevice);
  const bool out = on_host(p.dstMemoryType, p.dstDevice);
  if (in != out) into.put({in ? Kind::kCopyIn : Kind::kCopyOut, 0, copy::bytes_in(&p)});
}

void read_node(void* items, cu::CUgraphNode node, cu::CUgraphNodeType type) noexcept {
  if (type == cu::CU_GRAPH_NODE_TYPE_KERNEL) read_kernel(*static_cast<Items*>(items), node);
  if (type == cu::CU_GRAPH_NODE_TYPE_MEMCPY) read_copy(*static_cast<Items*>(items), node);
}

}  // namespace

void note_instantiation(cu::CUgraphExec exec, cu::CUgraph graph) noexcept {
  if (closed.load(std::memory_order_relaxed)) return;
  BesideCaptures beside;
  Graph* into = nullptr;
  {
    Locked locked(tape_lock);
    into = graph_of(exec);
  }
  if (!into) return;
  Items items;
  if (!visit_nodes(graph, read_node, &items)) items.mark_incomplete();
  Locked locked(tape_lock);
  items.give(*into);
}

}  // namespace cotenant::record
