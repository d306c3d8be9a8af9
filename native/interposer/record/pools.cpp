#include "interposer/record/pools.h"

#include <algorithm>

#include "interposer/base/table.h"

namespace cotenant::record {

__constinit Tape tape{};
__constinit Spin tape_lock;
__constinit std::atomic<bool> closed{false};

namespace {

constexpr std::uint32_t kPlaces = 2 * Tape::kKernels;  // a power of two
std::uint32_t places[kPlaces];                         // by key: a kernel's index + 1; under `tape_lock`

}  // namespace

Kernel* kernel_of(const LaunchShape& shape) noexcept {
  Kernel* known = nullptr;
  std::size_t free = 0;
  probe(shape.key(), kPlaces, [&](std::size_t at) {
    free = at;
    if (places[at] == 0) return true;
    Kernel& kernel = tape.kernels[places[at] - 1];
    if (kernel.shape.function != shape.function || !std::equal(shape.of, shape.of + 7, kernel.shape.of)) return false;
    known = &kernel;
    return true;
  });
  if (known || tape.kernels_used == Tape::kKernels) return known;
  Kernel& fresh = tape.kernels[tape.kernels_used++];
  places[free] = tape.kernels_used;
  fresh.shape = shape;
  fresh.registers = fresh.static_shared = fresh.blocks_per_sm = kUnknown;
  return &fresh;
}

Graph* graph_of(cu::CUgraphExec handle) noexcept {
  for (std::uint32_t i = 0; i < tape.graphs_used; ++i)
    if (tape.graphs[i].handle == handle) return &tape.graphs[i];
  if (tape.graphs_used == Tape::kGraphs) return nullptr;
  Graph& fresh = tape.graphs[tape.graphs_used++];
  fresh.handle = handle;
  return &fresh;
}

}  // namespace cotenant::record
