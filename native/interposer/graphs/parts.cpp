#include "interposer/graphs/parts.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "interposer/base/clock.h"
#include "interposer/graphs/division.h"
#include "interposer/lifetime/attachment.h"
#include "interposer/lookup/entry.h"
#include "interposer/process/process.h"
#include "interposer/state/capture.h"

namespace cotenant {

using namespace cu;

namespace {

// The number of parts that may be divided at one launch, because each division delays it by a fraction of a
// millisecond.
constexpr int kDividedAtOnce = 8;
constexpr std::uint32_t kEnoughSamples = 2;

}  // namespace

GraphParts::GraphParts(const GraphPlaces& places, Context& context, std::uint64_t flags) noexcept
    : context_(&context),
      // A flag to upload concerns the whole graph; the parts are uploaded when the application asks for that.
      flags_(flags & (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)),
      nodes_(places.graph().nodes()),
      most_(std::min(nodes_, std::max(places.count(), kMaxStops) + 1)),
      part_(most_),
      estimates_(most_),
      places_(nodes_),
      node_(nodes_),
      twins_(nodes_) {}

bool GraphParts::is_allocated() const noexcept {
  return part_.holds(most_) && estimates_.holds(most_) && places_.holds(nodes_) && node_.holds(nodes_) &&
         twins_.holds(nodes_);
}

GraphParts* GraphParts::make(const GraphPlaces& places, CUgraph graph, std::uint64_t instantiate_flags) noexcept {
  const std::uint64_t began = now_ns();
  const BesideCaptures beside;
  Context* context = current_context();
  void* room = context ? std::malloc(sizeof(GraphParts)) : nullptr;
  if (!room) return nullptr;
  auto* made = new (room) GraphParts(places, *context, instantiate_flags);
  if (!made->is_allocated() || real().cuEventCreate(&made->done_, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS ||
      !made->make_parts(places, graph)) {
    end(made, false);
    return nullptr;
  }
  if (environment().debug)
    tell("its %u parts took %.1f ms to make.", made->count_, static_cast<double>(now_ns() - began) / 1e6);
  return made;
}

bool GraphParts::make_parts(const GraphPlaces& places, CUgraph graph) noexcept {
  const std::uint32_t count = places.count() + 1;
  Room<std::uint32_t> begins(count + 1u);
  if (!begins.holds(count + 1u)) return false;
  std::copy(places.cuts(), places.cuts() + places.count(), begins.at() + 1);
  begins[count] = nodes_;
  for (std::uint32_t place = 0; place < nodes_; ++place) {
    const CUgraphNode node = places.graph().node(places.order().node_at(place));
    places_[place] = places.at(place);
    node_[place] = node;
    twins_[place] = {node, place};
  }
  std::sort(twins_.at(), twins_.at() + nodes_, [](const Twin& a, const Twin& b) { return a.of < b.of; });
  GraphDivision division(begins.at(), count);
  if (!division.divide(graph, node_.at())) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    part_[i] = {division.take(i), nullptr, begins[i], &estimates_[i], false};
    count_ = i + 1;
    part_[i].exec = instantiate(part_[i].graph);
    if (!part_[i].exec) return false;
  }
  for (std::uint32_t place = 0; place < nodes_; ++place) node_[place] = division.node(place);
  for (std::uint32_t i = 0; i < count; ++i) set_expected(i);
  return true;
}

CUgraphExec GraphParts::instantiate(CUgraph graph) const noexcept {
  CUgraphExec exec = nullptr;
  const auto with_flags = real().cuGraphInstantiateWithFlags;
  return with_flags && with_flags(&exec, graph, flags_) == CUDA_SUCCESS ? exec : nullptr;
}

void GraphParts::end(GraphParts* parts, bool context_ended) noexcept {
  if (!context_ended) {
    parts->destroy_parts();
    if (parts->done_) real().cuEventDestroy_v2(parts->done_);
  }
  if (parts->is_allocated()) parts->context_->gpu->best_effort.estimates.forget(&parts->estimates_[0], parts->most_);
  parts->~GraphParts();
  std::free(parts);
}

void GraphParts::destroy_parts() noexcept {
  const BesideCaptures beside;
  drop_next();
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (part_[i].exec) real().cuGraphExecDestroy(part_[i].exec);
    if (part_[i].graph) real().cuGraphDestroy(part_[i].graph);
  }
  count_ = 0;
}

void GraphParts::give_up(const char* why) noexcept {
  if (count_ == 0) return;
  destroy_parts();
  if (const Link* link = context_->gpu->link.load(std::memory_order_acquire))
    link->best_effort().wholeGraphs.fetch_add(1, std::memory_order_relaxed);
  if (environment().debug) tell("a graph runs whole from now on: %s.", why);
}

std::uint32_t GraphParts::end_of(std::uint32_t part) const noexcept {
  return part + 1 < count_ ? part_[part + 1].begin : nodes_;
}

const GraphParts::Part& GraphParts::part_of(std::uint32_t place) const noexcept {
  const Part* first = &part_[0];
  return *(
      std::upper_bound(first, first + count_, place, [](std::uint32_t at, const Part& b) { return at < b.begin; }) - 1);
}

const GraphParts::Twin* GraphParts::twin_of(CUgraphNode node) const noexcept {
  const Twin* end = &twins_[0] + nodes_;
  const Twin* found = std::lower_bound(&twins_[0], end, node, [](const Twin& a, CUgraphNode b) { return a.of < b; });
  return found != end && found->of == node ? found : nullptr;
}

// The sum over the nodes, until the part itself was timed.
void GraphParts::set_expected(std::uint32_t part) noexcept {
  std::uint64_t us = 0;
  for (std::uint32_t place = part_[part].begin; place < end_of(part); ++place) us += places_[place].us;
  const auto ns = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(us, 1, 4'000'000) * 1000);
  part_[part].estimate->expected_ns.store(ns, std::memory_order_relaxed);
  part_[part].estimate->typical_ns.store(ns, std::memory_order_relaxed);
}

void GraphParts::divide_long(std::uint32_t target_us) noexcept {
  if (changed_) return;
  const BesideCaptures beside;
  const std::uint32_t before = count_;
  int left = kDividedAtOnce;
  for (std::uint32_t i = count_; left > 0 && i-- > 0;) {
    const Estimate& estimate = *part_[i].estimate;
    const std::uint32_t us = estimate.shortest_ns() / 1000;  // others on the GPU can only make it longer
    if (part_[i].settled || estimate.samples.load(std::memory_order_relaxed) < kEnoughSamples || us < 2 * target_us)
      continue;
    part_[i].settled = !divide(i, us, target_us);
    --left;
  }
  if (count_ == before) return;
  if (const Link* link = context_->gpu->link.load(std::memory_order_acquire))
    link->best_effort().graphGates.fetch_add(count_ - before, std::memory_order_relaxed);
  if (environment().debug)
    tell("a graph has %u parts now, in place of %u: some took longer than was guessed.", count_, before);
}

// Distributes the measured time over the part's nodes: guessed times take what the known ones leave.
void GraphParts::scale_to_measured(std::uint32_t part, std::uint32_t us) noexcept {
  std::uint64_t guessed = 0;
  std::uint64_t known = 0;
  for (std::uint32_t place = part_[part].begin; place < end_of(part); ++place)
    (places_[place].guessed ? guessed : known) += places_[place].us;
  const bool by_guesses = guessed > 0 && known < us;
  const double scale = by_guesses ? static_cast<double>(us - known) / static_cast<double>(guessed)
                                  : us / static_cast<double>(std::max<std::uint64_t>(known + guessed, 1));
  for (std::uint32_t place = part_[part].begin; place < end_of(part); ++place) {
    GraphPlaces::Place& at = places_[place];
    if (at.guessed || !by_guesses) at.us = static_cast<std::uint32_t>(at.us * scale);
  }
}

bool GraphParts::divide(std::uint32_t part, std::uint32_t us, std::uint32_t target_us) noexcept {
  const std::uint32_t first = part_[part].begin;
  const std::uint32_t end = end_of(part);
  Room<std::uint32_t> begins(end - first + 1u);
  if (!begins.holds(end - first + 1u)) return false;
  scale_to_measured(part, us);
  std::uint32_t pieces = 1;
  std::uint64_t sum = 0;
  begins[0] = first;
  for (std::uint32_t place = first; place < end; ++place) {
    const GraphPlaces::Place& at = places_[place];
    const bool full = 2 * sum >= target_us && sum + at.us > target_us;
    if (place > first && at.free && full && count_ + pieces <= most_) {
      begins[pieces++] = place;
      sum = 0;
    }
    sum += at.us;
  }
  begins[pieces] = end;
  return pieces > 1 && replace(part, begins.at(), pieces);
}

bool GraphParts::replace(std::uint32_t part, const std::uint32_t* begins, std::uint32_t pieces) noexcept {
  GraphDivision division(begins, pieces);
  Room<CUgraphExec> execs(pieces);
  bool able = execs.holds(pieces) && division.divide(part_[part].graph, &node_[begins[0]]);
  for (std::uint32_t i = 0; able && i < pieces; ++i) {
    execs[i] = instantiate(division.look_at(i));
    able = execs[i] != nullptr;
  }
  if (!able) {
    for (std::uint32_t i = 0; execs.holds(pieces) && i < pieces; ++i)
      if (execs[i]) real().cuGraphExecDestroy(execs[i]);
    return false;
  }
  // A launch of the part that still runs is not disturbed.
  real().cuGraphExecDestroy(part_[part].exec);
  real().cuGraphDestroy(part_[part].graph);
  Estimate* const own = part_[part].estimate;
  context_->gpu->best_effort.estimates.forget(own, 1);
  own->sightings.store(0, std::memory_order_relaxed);
  own->samples.store(0, std::memory_order_relaxed);
  for (std::uint32_t place = begins[0]; place < begins[pieces]; ++place) node_[place] = division.node(place);
  std::copy_backward(&part_[part + 1], &part_[0] + count_, &part_[0] + count_ + pieces - 1);
  for (std::uint32_t i = 0; i < pieces; ++i)
    part_[part + i] = {division.take(i), execs[i], begins[i], i == 0 ? own : &estimates_[count_ + i - 1], false};
  count_ += pieces - 1;
  for (std::uint32_t i = 0; i < pieces; ++i) set_expected(part + i);
  return true;
}

}  // namespace cotenant
