#include "interposer/graph_gates.h"

#include <algorithm>

#include "interposer/border.h"
#include "interposer/capture.h"
#include "interposer/function.h"
#include "interposer/graph_cuts.h"
#include "interposer/graph_nodes.h"
#include "interposer/spin.h"

namespace cotenant {
namespace {

using namespace cu;

// What the driver will not let us undo, or what runs out of our sight.
constexpr std::uint64_t kDeviceLaunch = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
constexpr int kDeepest = 8;
// Larger ones would keep the application waiting while we read them.
constexpr std::size_t kMostNodes = 200'000;
// A kernel that never ran by itself. Programs warm up before they record, so there are few; and taken for longer than
// they are, many would mean a gate everywhere.
constexpr std::uint32_t kUnknownUs = 5;
constexpr std::uint32_t kOtherNodeUs = 1;
// A gate takes up to 10 us of an H200 (docs/decisions/0005): gates so far apart cost some 4 %, however many nodes are between.
constexpr std::uint32_t kLeastBetweenUs = 200;
constexpr std::uint32_t kAnyNumber = ~0u;

// Sums up what nodes are expected to take, and finds out whether the graph can be divided at all.
class Estimating {
 public:
  explicit Estimating(Estimates& estimates) noexcept : estimates_(estimates) {}

  // Why the graph is to be left whole; null: it is not.
  [[nodiscard]] const char* refused() const noexcept { return refused_; }
  [[nodiscard]] std::uint32_t unknown() const noexcept { return unknown_; }

  // Expected GPU time of a node in us; a child graph is one node.
  std::uint32_t node_us(CUgraphNode node, int depth = 0) noexcept {
    CUgraphNodeType type{};
    if (real().cuGraphNodeGetType(node, &type) != CUDA_SUCCESS) return refuse("the driver does not say what is in it");
    switch (type) {
      case CU_GRAPH_NODE_TYPE_KERNEL:
        return kernel_us(node);
      case CU_GRAPH_NODE_TYPE_GRAPH:
        return child_us(node, depth);
      case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return refuse("it allocates memory");
      case CU_GRAPH_NODE_TYPE_EMPTY:
        return 0;
      default:
        return kOtherNodeUs;
    }
  }

 private:
  std::uint32_t refuse(const char* why) noexcept {
    refused_ = why;
    return 0;
  }

  std::uint32_t kernel_us(CUgraphNode node) noexcept {
    constexpr auto kUpdatable = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
    const auto get_attribute = real().cuGraphKernelNodeGetAttribute;
    CUkernelNodeAttrValue value{};
    if (get_attribute && get_attribute(node, kUpdatable, &value) == CUDA_SUCCESS &&
        value.deviceUpdatableKernelNode.deviceUpdatable)
      return refuse("a kernel of it is changed from the GPU");
    LaunchShape shape{};
    const bool told = launch_of(node, shape);
    std::uint32_t ns = told ? estimates_.expected_ns(shape) : 0;
    if (told && ns == 0) ns = estimates_.expected_ns(named_shape(shape));
    unknown_ += ns == 0 ? 1 : 0;
    return ns ? (ns + 999) / 1000 : kUnknownUs;
  }

  std::uint32_t child_us(CUgraphNode node, int depth) noexcept {
    CUgraph child = nullptr;
    std::size_t count = 0;
    if (depth >= kDeepest || real().cuGraphChildGraphNodeGetGraph(node, &child) != CUDA_SUCCESS ||
        real().cuGraphGetNodes(child, nullptr, &count) != CUDA_SUCCESS)
      return refuse("the driver does not say what is in it");
    Room<CUgraphNode> nodes(count);
    if (!nodes.holds(count)) return kUnknownUs;
    if (count > 0 && real().cuGraphGetNodes(child, nodes.at(), &count) != CUDA_SUCCESS) return kUnknownUs;
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += node_us(nodes[i], depth + 1);
    return sum;
  }

  Estimates& estimates_;
  const char* refused_{nullptr};
  std::uint32_t unknown_{0};
};

}  // namespace

// The nodes and edges of a graph, named by numbers.
class Reading {
 public:
  explicit Reading(CUgraph graph) noexcept
      : nodes_(count_nodes(graph)), by_handle_(nodes_count_), edges_(count_edges(graph)) {
    whole_ = nodes_count_ > 1 && nodes_.holds(nodes_count_) && by_handle_.holds(nodes_count_) &&
             real().cuGraphGetNodes(graph, nodes_.at(), &nodes_count_) == CUDA_SUCCESS && read_edges(graph);
  }

  // False for a node or two, or nodes that do not hang together.
  [[nodiscard]] bool whole() const noexcept { return whole_; }
  [[nodiscard]] std::uint32_t nodes() const noexcept { return whole_ ? static_cast<std::uint32_t>(nodes_count_) : 0; }
  [[nodiscard]] std::uint32_t edges() const noexcept { return whole_ ? static_cast<std::uint32_t>(edges_count_) : 0; }
  [[nodiscard]] CUgraphNode node(std::uint32_t i) const noexcept { return nodes_[i]; }
  [[nodiscard]] const GraphEdge* edge() const noexcept { return &edges_[0]; }

 private:
  struct Named {
    CUgraphNode handle;
    std::uint32_t index;
  };

  std::size_t count_nodes(CUgraph graph) noexcept {
    const CUresult result = real().cuGraphGetNodes(graph, nullptr, &nodes_count_);
    if (result != CUDA_SUCCESS || nodes_count_ > kMostNodes) nodes_count_ = 0;
    return nodes_count_;
  }

  std::size_t count_edges(CUgraph graph) noexcept {
    const CUresult result = real().cuGraphGetEdges_v2
                                ? real().cuGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &edges_count_)
                                : real().cuGraphGetEdges(graph, nullptr, nullptr, &edges_count_);
    if (result != CUDA_SUCCESS || edges_count_ > 8 * kMostNodes) edges_count_ = 0;
    return edges_count_;
  }

  bool read_edges(CUgraph graph) noexcept {
    Room<CUgraphNode> from(edges_count_);
    Room<CUgraphNode> to(edges_count_);
    Room<CUgraphEdgeData> data(edges_count_);
    const bool room = from.holds(edges_count_) && to.holds(edges_count_) && data.holds(edges_count_);
    if (edges_count_ == 0 || !edges_.holds(edges_count_) || !room) return false;
    const CUresult result = real().cuGraphGetEdges_v2
                                ? real().cuGraphGetEdges_v2(graph, from.at(), to.at(), data.at(), &edges_count_)
                                : real().cuGraphGetEdges(graph, from.at(), to.at(), &edges_count_);
    if (result != CUDA_SUCCESS) return false;
    for (std::uint32_t i = 0; i < nodes_count_; ++i) by_handle_[i] = {nodes_[i], i};
    std::sort(by_handle_.at(), by_handle_.at() + nodes_count_,
              [](const Named& a, const Named& b) { return a.handle < b.handle; });
    bool all = true;
    for (std::size_t i = 0; i < edges_count_; ++i) {
      edges_[i].overlaps = data[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
      all = find(from[i], edges_[i].from) && find(to[i], edges_[i].to) && all;
    }
    return all;
  }

  bool find(CUgraphNode handle, std::uint32_t& index) noexcept {
    const Named* end = by_handle_.at() + nodes_count_;
    const auto before = [](const Named& a, CUgraphNode b) { return a.handle < b; };
    const Named* found = std::lower_bound(by_handle_.at(), by_handle_.at() + nodes_count_, handle, before);
    if (found == end || found->handle != handle) return false;
    index = found->index;
    return true;
  }

  std::size_t nodes_count_{0};
  std::size_t edges_count_{0};
  Room<CUgraphNode> nodes_;
  Room<Named> by_handle_;
  Room<GraphEdge> edges_;
  bool whole_{false};
};

namespace {

// Executable graphs and the cuts they were made with.
struct Made {
  CUgraphExec exec;
  std::uint32_t count;
  std::uint32_t* cuts;  // owned
  Made* next;
};
Spin lock;
Made* first_made = nullptr;

Made* unlink(CUgraphExec exec) noexcept {
  Locked locked(lock);
  for (Made** at = &first_made; *at; at = &(*at)->next)
    if ((*at)->exec == exec) {
      Made* found = *at;
      *at = found->next;
      return found;
    }
  return nullptr;
}

void report(const Link& link, const char* refused) noexcept {
  link.best_effort().wholeGraphs.fetch_add(1, std::memory_order_relaxed);
  if (environment().debug) tell("a graph runs whole, and a request waits for its end: %s.", refused);
}

}  // namespace

Gates::Gates(CUgraph graph, std::uint64_t instantiate_flags) noexcept {
  const Context* context = current_context();
  const Link* link = context ? context->gpu->link.load(std::memory_order_acquire) : nullptr;
  if (!link) return;
  Rules rules = read_rules(link->region->settings);
  if (!rules.graph_gates) return;
  rules.chunk_launches = kAnyNumber;
  const Reading reading(graph);
  if (instantiate_flags & kDeviceLaunch) report(*link, "it is launched from the GPU");
  else choose(*link, rules, reading);
  put_in(graph, reading);
}

Gates::Gates(CUgraph graph, CUgraphExec like) noexcept {
  {
    Locked locked(lock);
    const Made* made = first_made;
    while (made && made->exec != like) made = made->next;
    if (!made) return;
    cuts_ = static_cast<std::uint32_t*>(std::calloc(made->count, sizeof *cuts_));
    if (!cuts_) return;
    count_ = made->count;
    std::copy(made->cuts, made->cuts + count_, cuts_);
  }
  put_in(graph, Reading(graph));
}

Gates::~Gates() {
  take_out();
  std::free(nodes_);
  std::free(cuts_);
}

bool Gates::includes(CUgraphNode node) const noexcept {
  return std::find(nodes_, nodes_ + standing_, node) != nodes_ + standing_;
}

void Gates::choose(const Link& link, const Rules& rules, const Reading& graph) noexcept {
  const OrderedGraph ordered(graph.nodes(), graph.edge(), graph.edges());
  Room<Item> items(graph.nodes());
  cuts_ = static_cast<std::uint32_t*>(std::calloc(graph.nodes() + 1u, sizeof *cuts_));
  if (!graph.whole() || !ordered.whole() || !cuts_ || !items.holds(graph.nodes())) return;
  Gpu& gpu = *current_context()->gpu;
  // What the program ran to warm up may not have been looked at yet.
  const auto& activity = link.region->activity;
  if (!captures_open())
    gpu.best_effort.estimates.collect(activity.activations.load(std::memory_order_relaxed),
                                      activity.active.load(std::memory_order_relaxed) != 0,
                                      current_context()->handle.load(std::memory_order_relaxed));
  Estimating estimating(gpu.best_effort.estimates);
  std::uint64_t us = 0;
  for (std::uint32_t i = 0; i < graph.nodes(); ++i) {
    items[i] = {estimating.node_us(graph.node(i)), true, KernelClass::kUnknown, 0};
    us += items[i].expected_us;
  }
  if (estimating.refused()) return report(link, estimating.refused());
  count_ = ordered.choose(items.at(), rules, kLeastBetweenUs, cuts_);
  if (environment().debug)
    tell("a graph of %u nodes, %u kernels among them unknown, %llu us: %u places to stop.", graph.nodes(),
         estimating.unknown(), static_cast<unsigned long long>(us), count_);
  if (count_ == 0 && us > rules.chunk_us) report(link, "it has branches that do not meet");
}

void Gates::put_in(CUgraph into, const Reading& graph) noexcept {
  const std::uint32_t wanted = count_;
  count_ = 0;
  Context* context = current_context();
  const Link* link = context ? context->gpu->link.load(std::memory_order_acquire) : nullptr;
  const bool able = real().cuGraphAddBatchMemOpNode && real().cuGraphAddDependencies && real().cuGraphDestroyNode;
  if (wanted == 0 || !link || !able || !map_pages(*context, *link)) return;
  const OrderedGraph ordered(graph.nodes(), graph.edge(), graph.edges());
  Room<CUgraphNode> ends(graph.nodes());
  nodes_ = static_cast<CUgraphNode*>(std::calloc(wanted, sizeof *nodes_));
  if (!ordered.whole() || !ends.holds(graph.nodes()) || !nodes_) return;
  for (const std::uint32_t* cut = cuts_; cut != cuts_ + wanted && *cut < graph.nodes(); ++cut) {
    std::size_t count = 0;
    ordered.each_end(*cut, [&](std::uint32_t node) { ends[count++] = graph.node(node); });
    CUgraphNode gate = nullptr;
    CUstreamBatchMemOpParams words[] = {write_word(gate_word(*context), *cut), wait_for_release(*context, *link)};
    const CUDA_BATCH_MEM_OP_NODE_PARAMS params{context->handle.load(std::memory_order_relaxed), 2, words, 0};
    if (real().cuGraphAddBatchMemOpNode(&gate, into, ends.at(), count, &params) != CUDA_SUCCESS) break;
    bool stands = true;
    ordered.each_beginning(*cut, [&](std::uint32_t node) {
      const CUgraphNode to = graph.node(node);
      stands = real().cuGraphAddDependencies(into, &gate, &to, 1) == CUDA_SUCCESS && stands;
    });
    if (stands) {
      nodes_[standing_] = gate;
      cuts_[standing_++] = *cut;
    } else {  // nothing would wait for it
      real().cuGraphDestroyNode(gate);
    }
  }
  count_ = standing_;
}

void Gates::take_out() noexcept {
  for (std::uint32_t i = 0; i < standing_; ++i) real().cuGraphDestroyNode(nodes_[i]);
  standing_ = 0;
}

void Gates::belong_to(CUgraphExec exec) noexcept {
  forget_gates_of(exec);
  auto* made = static_cast<Made*>(std::calloc(1, sizeof(Made)));
  if (!made) return;
  *made = {exec, count_, cuts_, nullptr};
  cuts_ = nullptr;  // its own now
  if (const Context* context = current_context())
    if (const Link* link = context->gpu->link.load(std::memory_order_acquire))
      link->best_effort().graphGates.fetch_add(count_, std::memory_order_relaxed);
  Locked locked(lock);
  made->next = first_made;
  first_made = made;
}

void forget_gates_of(CUgraphExec exec) noexcept {
  if (Made* made = unlink(exec)) {
    std::free(made->cuts);
    std::free(made);
  }
}

}  // namespace cotenant
