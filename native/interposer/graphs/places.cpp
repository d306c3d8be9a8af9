#include "interposer/graphs/places.h"

#include <algorithm>

#include "generated/rules.h"
#include "interposer/kernels/function.h"
#include "interposer/kernels/graph_nodes.h"
#include "interposer/lifetime/attachment.h"
#include "interposer/lookup/entry.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

using namespace cu;
using protocol::GraphGates;

// Nodes that the driver does not let the interposer change back, or whose work it can't observe.
constexpr std::uint64_t kDeviceLaunch = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
constexpr int kDeepest = 8;
// A kernel that never ran by itself: a program may record others than it warmed up with. What a wave of threads that fills
// the GPU takes at least, about: an H200 moves some 10 MB in it. What it really takes is measured part by part.
constexpr std::uint32_t kUnknownUs = 5;
constexpr std::uint32_t kUnknownWaveUs = 3;
constexpr std::uint64_t kThreadsOnAnSm = 2048;
constexpr std::uint64_t kMaxUnknownUs = 10'000;
constexpr std::uint32_t kOtherNodeUs = 1;
constexpr std::uint32_t kAnyNumber = ~0u;

// Sums up what nodes are expected to take, and finds out whether the graph can be divided at all.
class NodeTimes {
 public:
  NodeTimes(Gpu& gpu, GraphGates how) noexcept
      : estimates_(gpu.best_effort.estimates),
        wave_(std::max(gpu.identity.sm_count, 1u) * kThreadsOnAnSm),
        measured_later_(how == GraphGates::kParts) {}

  // The reason why the graph is not divided; null: there is none.
  [[nodiscard]] const char* refused() const noexcept { return refused_; }
  [[nodiscard]] std::uint32_t unknown() const noexcept { return unknown_; }

  // Expected GPU time of a node in us; a child graph is one node.
  std::uint32_t node_us(CUgraphNode node, int depth = 0) noexcept {
    CUgraphNodeType type{};
    if (real().cuGraphNodeGetType(node, &type) != CUDA_SUCCESS) return refuse("the driver does not say what is in it");
    switch (type) {
      case CU_GRAPH_NODE_TYPE_KERNEL: return kernel_us(node);
      case CU_GRAPH_NODE_TYPE_GRAPH: return child_us(node, depth);
      case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      case CU_GRAPH_NODE_TYPE_MEM_FREE: return refuse("it allocates memory");
      case CU_GRAPH_NODE_TYPE_EMPTY: return 0;
      default: return kOtherNodeUs;
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
    std::uint32_t ns = told ? kernel_ns(shape) : 0;
    if (told && ns == 0) ns = kernel_ns(named_shape(shape));
    if (ns > 0) return (ns + 999) / 1000;
    ++unknown_;
    const auto& [gx, gy, gz, bx, by, bz, shared] = shape.of;
    const std::uint64_t threads = std::uint64_t{gx} * gy * gz * bx * by * bz;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(threads / wave_ * kUnknownWaveUs, kUnknownUs, kMaxUnknownUs));
  }

  // Others on the GPU can only make it longer; a part that is too long is divided when it was timed, a graph with gates not.
  std::uint32_t kernel_ns(const LaunchShape& shape) noexcept {
    return measured_later_ ? estimates_.shortest_ns(shape) : estimates_.expected_ns(shape);
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
  std::uint64_t wave_;  // threads
  bool measured_later_;
  const char* refused_{nullptr};
  std::uint32_t unknown_{0};
};

const Link* current_link() noexcept {
  const Context* context = current_context();
  return context ? context->gpu->link.load(std::memory_order_acquire) : nullptr;
}

Rules rules_of(const Link* link) noexcept { return link ? read_rules(link->region->settings) : Rules{}; }

void report(const Link& link, const char* refused) noexcept {
  link.best_effort().wholeGraphs.fetch_add(1, std::memory_order_relaxed);
  if (environment().debug) tell("a graph runs whole, and a request waits for its end: %s.", refused);
}

}  // namespace

GraphPlaces::GraphPlaces(CUgraph graph, std::uint64_t instantiate_flags) noexcept
    : GraphPlaces(graph, rules_of(current_link()), current_link(), instantiate_flags) {}

GraphPlaces::GraphPlaces(CUgraph graph, const Rules& rules, const Link* link, std::uint64_t instantiate_flags) noexcept
    : how_(rules.graph_gates),
      reading_(how_ == GraphGates::kNone || (instantiate_flags & kDeviceLaunch) ? nullptr : graph),
      ordered_(reading_.nodes(), reading_.edge(), reading_.edges()),
      cuts_(reading_.nodes()),
      at_(reading_.nodes()) {
  if (how_ == GraphGates::kNone) return;
  if (instantiate_flags & kDeviceLaunch) report(*link, "it is launched from the GPU");
  else choose(*link, rules);
}

GraphPlaces::GraphPlaces(CUgraph graph, const std::uint32_t* cuts, std::uint32_t count) noexcept
    : reading_(graph),
      ordered_(reading_.nodes(), reading_.edge(), reading_.edges()),
      cuts_(count),
      at_(reading_.nodes()) {
  if (!ordered_.whole() || !cuts_.holds(count) || !at_.holds(reading_.nodes()) || !find_free()) return;
  std::copy(cuts, cuts + count, cuts_.at());
  if (std::all_of(cuts, cuts + count, [&](std::uint32_t cut) { return cut < reading_.nodes() && at_[cut].free; }))
    count_ = count;
}

bool GraphPlaces::find_free() noexcept {
  Room<bool> free(reading_.nodes());
  if (!free.holds(reading_.nodes()) || !ordered_.find_free(free.at())) return false;
  for (std::uint32_t place = 0; place < reading_.nodes(); ++place) at_[place].free = free[place];
  return true;
}

void GraphPlaces::choose(const Link& link, Rules rules) noexcept {
  const std::uint32_t nodes = reading_.nodes();
  Room<Item> items(nodes);
  const bool room = cuts_.holds(nodes) && at_.holds(nodes) && items.holds(nodes);
  if (!reading_.whole() || !ordered_.whole() || !room || !find_free()) return;
  Gpu& gpu = *current_context()->gpu;
  // The program's warm-up may not have been sampled yet.
  const auto& page = link.hold_page();
  gpu.best_effort.estimates.collect(page.activations.load(std::memory_order_relaxed),
                                    page.active.load(std::memory_order_relaxed) != 0,
                                    current_context()->handle.load(std::memory_order_relaxed));
  NodeTimes times(gpu, how_);
  std::uint64_t us = 0;
  for (std::uint32_t place = 0; place < nodes; ++place) {
    const std::uint32_t node = ordered_.node_at(place);
    const std::uint32_t unknown = times.unknown();
    at_[place].us = times.node_us(reading_.node(node));
    at_[place].guessed = times.unknown() > unknown;
    items[node] = {at_[place].us, true, KernelClass::kUnknown, 0};
    us += at_[place].us;
  }
  if (times.refused()) return report(link, times.refused());
  rules.chunk_launches = kAnyNumber;
  const auto least_us = static_cast<std::uint32_t>(std::max<std::uint64_t>(kMinBetweenStopsUs, us / kMaxStops));
  count_ = ordered_.choose(items.at(), rules, least_us, cuts_.at());
  const auto may_cut = [](const Place& at) { return at.free; };
  doubtful_ = times.unknown() > 0 && std::any_of(at_.at(), at_.at() + nodes, may_cut);
  if (environment().debug)
    tell("a graph of %u nodes, %u kernels among them unknown, %llu us: %u places to stop.", nodes, times.unknown(),
         static_cast<unsigned long long>(us), count_);
  if (count_ == 0 && us > rules.chunk_us) report(link, "it has branches that do not meet");
}

}  // namespace cotenant
