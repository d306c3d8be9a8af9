#include "interposer/high/publish.h"

#include <algorithm>

#include "generated/rules.h"
#include "interposer/base/clock.h"
#include "interposer/kernels/graph_nodes.h"
#include "interposer/kernels/kernel_table.h"
#include "interposer/kernels/occupancy.h"
#include "interposer/lookup/entry.h"
#include "interposer/process/process.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

// The sums over a graph's kernels that the profile knows.
struct GraphSum {
  std::uint64_t ns_of[3];  // by class
  std::uint32_t sms;
  bool whole;
};

void add_kernel(void* to, cu::CUgraphNode node, cu::CUgraphNodeType type) noexcept {
  if (type != cu::CU_GRAPH_NODE_TYPE_KERNEL) return;
  auto& sum = *static_cast<GraphSum*>(to);
  LaunchShape shape{};
  const protocol::KernelEntry* entry = launch_of(node, shape) ? profile_of(shape) : nullptr;
  if (!entry) return void(sum.whole = false);
  sum.ns_of[static_cast<int>(class_of(*entry))] += entry->durationNs;
  sum.sms = std::max(sum.sms, entry->sms);
}

}  // namespace

void high_publish_kernel(const Stream& stream, const Submission& submission) noexcept {
  const Gpu& gpu = *stream.context->gpu;
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link || !rule::want_kernels(link->region->settings)) return;
  const bool graph = submission.kind == Submission::Kind::kGraph;
  const Needs needs = graph ? needs_of_graph(*submission.shape) : needs_of(*submission.shape, gpu.identity.sm_count);
  const std::uint32_t kernel = static_cast<std::uint32_t>(needs.kernel_class) << 16 | needs.sms;
  each_hold(*link, [&](protocol::HoldPage& page, std::uint32_t) {
    page.highKernel.store(kernel, std::memory_order_relaxed);
    page.highKernelUs.store(needs.duration_us, std::memory_order_relaxed);
  });
}

void high_publish_graph(cu::CUgraphExec exec, cu::CUgraph graph) noexcept {
  if (role() != Role::kHigh || !kernel_table()) return;
  GraphSum sum{{0, 0, 0}, 0, true};
  if (!visit_nodes(graph, add_kernel, &sum)) sum.whole = false;
  const auto* most = std::max_element(sum.ns_of, sum.ns_of + 3);
  const std::uint64_t us = (sum.ns_of[0] + sum.ns_of[1] + sum.ns_of[2] + 999) / 1000;
  // A graph with unknown kernels may need more SMs, and take longer, than its known kernels.
  const Needs needs{sum.whole ? sum.sms : 0, static_cast<KernelClass>(most - sum.ns_of),
                    sum.whole ? static_cast<std::uint32_t>(std::min<std::uint64_t>(us, Needs::kLongestUs)) : 0};
  note_needs_of_graph(graph_shape(exec), needs);
}

void high_publish_copy(Stream& stream, const Submission& submission) noexcept {
  const Link* link = stream.context->gpu->link.load(std::memory_order_acquire);
  if (!link) return;
  const bool out = submission.bus == Bus::kOut;
  if (out) stream.high.copying_out.store(stream.high.begun.load(std::memory_order_relaxed), std::memory_order_relaxed);
  stream.context->gpu->high.copied.store(true, std::memory_order_relaxed);
  const std::uint64_t ends = out ? ~std::uint64_t{0} : now_ns() + submission.copy_ns;
  each_hold(*link, [&](protocol::HoldPage& page, std::uint32_t) {
    auto& until = page.high[link->slot].copyUntil;
    if (ends > until.load(std::memory_order_relaxed)) until.store(ends, std::memory_order_relaxed);
  });
}

void end_copies(const Link& link) noexcept {
  each_hold(link, [&](protocol::HoldPage& page, std::uint32_t) {
    page.high[link.slot].copyUntil.store(0, std::memory_order_relaxed);
  });
}

void high_end_copy(Stream& stream) noexcept {
  stream.high.copying_out.store(0, std::memory_order_relaxed);
  if (const Link* link = stream.context->gpu->link.load(std::memory_order_acquire)) end_copies(*link);
}

}  // namespace cotenant
