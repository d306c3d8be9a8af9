#include "interposer/record/tape.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "interposer/base/clock.h"
#include "interposer/base/spin.h"
#include "interposer/base/table.h"
#include "interposer/kernels/function.h"
#include "interposer/kernels/graph_nodes.h"
#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/copy_arguments.h"
#include "interposer/lookup/entry.h"
#include "interposer/record/file.h"
#include "interposer/record/timing.h"

namespace cotenant::record {
namespace {

// Megabytes, of which a process that does not record touches nothing.
__constinit Tape tape{};
constexpr std::uint32_t kPlaces = 2 * Tape::kKernels;  // a power of two
std::uint32_t places[kPlaces];                         // by key: a kernel's index + 1
Spin lock;                                             // all of the above
std::atomic<bool> closed{false};

constexpr std::uint32_t kAlwaysTimed = 5;
constexpr std::uint64_t kPatienceNs = 200'000'000;

// One in sixteen, at distances that follow no pattern a program has.
bool is_timed(std::uint32_t sighting) noexcept {
  return sighting < kAlwaysTimed || (sighting * 0x9e3779b1u) >> 28 == 0;
}

// Under `lock`; null when there are too many.
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

void note_device() noexcept {
  cu::CUdevice ordinal = 0;
  if (real().cuCtxGetDevice(&ordinal) != cu::CUDA_SUCCESS) return;
  {
    Locked locked(lock);
    if (tape.device_known) {
      if (tape.device.ordinal != ordinal) tape.several_devices = true;
      return;
    }
  }
  Device device{};
  const auto ask = [&](int& into, cu::CUdevice_attribute what) {
    return real().cuDeviceGetAttribute(&into, what, ordinal) == cu::CUDA_SUCCESS;
  };
  const bool told = ask(device.major, cu::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) &&
                    ask(device.minor, cu::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) &&
                    ask(device.sms, cu::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) &&
                    real().cuDeviceGetName(device.name, sizeof device.name, ordinal) == cu::CUDA_SUCCESS;
  if (!told) device.name[0] = '\0';
  device.ordinal = ordinal;
  Locked locked(lock);
  if (!tape.device_known) tape.device = device;
  tape.device_known = true;
}

// Asks the driver about a kernel that has run, so that nothing is loaded on our account. Two threads may
// ask at once: they are told the same.
void describe(Kernel& kernel) noexcept {
  BesideCaptures beside;
  const auto& [gx, gy, gz, bx, by, bz, shared] = kernel.shape.of;
  const auto [function, name] = named_function(kernel.shape.function);
  const auto ask = [function = function](cu::CUfunction_attribute what) {
    int value = 0;
    const bool told = function && real().cuFuncGetAttribute(&value, what, function) == cu::CUDA_SUCCESS;
    return told ? value : kUnknown;
  };
  const int registers = ask(cu::CU_FUNC_ATTRIBUTE_NUM_REGS);
  const int fixed = ask(cu::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  int blocks = 0;
  const auto occupancy = real().cuOccupancyMaxActiveBlocksPerMultiprocessor;
  const bool fits = function && occupancy &&
                    occupancy(&blocks, function, static_cast<int>(bx * by * bz), shared) == cu::CUDA_SUCCESS &&
                    blocks > 0;
  // The driver's text goes when the code is unloaded.
  char* copy = strdup(name ? name : "unnamed");
  Locked locked(lock);
  kernel.registers = registers;
  kernel.static_shared = fixed;
  kernel.blocks_per_sm = fits ? blocks : kUnknown;
  if (!kernel.name) kernel.name = copy;
  else free(copy);
}

bool is_described(const Kernel& kernel) noexcept {
  Locked locked(lock);
  return kernel.name != nullptr;
}

// Under `lock`. The CPU's time between two steps is the program's own: what we do ends before last_end.
// Returns whether this was the first.
bool append(Kind kind, std::uint32_t index, std::uint64_t amount, std::uint64_t at) noexcept {
  if (closed.load(std::memory_order_relaxed)) return false;
  const bool first = tape.steps_seen == 0;
  if (first) tape.began = tape.last_end = at;
  const std::uint64_t gap = at > tape.last_end ? at - tape.last_end : 0;
  tape.steps[tape.steps_seen++ % Tape::kSteps] = {kind, index, amount, at, gap};
  return first;
}

void returned() noexcept {
  Locked locked(lock);
  tape.last_end = now_ns();
}

Began begin(Kind kind, std::uint32_t index, Timed& timed, std::uint64_t at, cu::CUstream stream,
            std::uint32_t sighting) noexcept {
  if (!is_timed(sighting)) return {at, kind, index, -1};
  return {at, kind, index, start_timer(timed, sighting == 0 ? Quality::kFirst : Quality::kIdle, stream)};
}

// Not for ever: a signal's handler that calls exit may have interrupted us.
bool taken_soon() noexcept {
  for (const std::uint64_t until = now_ns() + kPatienceNs; now_ns() < until; sched_yield())
    if (lock.try_lock()) return true;
  return false;
}

// What a graph holds, while it is read.
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
  void lack() noexcept { whole_ = false; }
  // Under `lock`.
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
  if (!launch_of(node, shape)) return into.lack();
  Locked locked(lock);
  if (const Kernel* kernel = kernel_of(shape))
    into.put({Kind::kKernel, static_cast<std::uint32_t>(kernel - tape.kernels), 0});
  else into.lack();
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

// Graphs are read when they are made, their kernels asked about when they have run.
void describe_kernels_of(Graph& graph) noexcept {
  for (std::uint32_t i = graph.first; i < graph.first + graph.count; ++i)
    if (tape.items[i].kind == Kind::kKernel)
      if (Kernel& kernel = tape.kernels[tape.items[i].index]; !is_described(kernel)) describe(kernel);
  graph.described = true;
}

}  // namespace

Began begin_kernel(const LaunchShape& shape, cu::CUstream stream) noexcept {
  const std::uint64_t at = now_ns();
  const Began nothing{at, Kind::kNothing, 0, -1};
  const bool empty = std::find(shape.of, shape.of + 6, 0u) != shape.of + 6;  // the driver will refuse it
  if (empty || closed.load(std::memory_order_relaxed)) return nothing;
  Kernel* kernel = nullptr;
  std::uint32_t sighting = 0;
  {
    Locked locked(lock);
    kernel = kernel_of(shape);
    if (kernel) sighting = kernel->timed.sightings++;
    else ++tape.lost;
  }
  if (!kernel) return nothing;
  return begin(Kind::kKernel, static_cast<std::uint32_t>(kernel - tape.kernels), kernel->timed, at, stream, sighting);
}

Began begin_graph(cu::CUgraphExec handle, cu::CUstream stream) noexcept {
  const std::uint64_t at = now_ns();
  const Began nothing{at, Kind::kNothing, 0, -1};
  if (closed.load(std::memory_order_relaxed)) return nothing;
  Graph* graph = nullptr;
  std::uint32_t sighting = 0;
  {
    Locked locked(lock);
    graph = graph_of(handle);
    if (graph) sighting = graph->timed.sightings++;
    else ++tape.lost;
  }
  if (!graph) return nothing;
  return begin(Kind::kGraph, static_cast<std::uint32_t>(graph - tape.graphs), graph->timed, at, stream, sighting);
}

void end(const Began& began, cu::CUstream stream, cu::CUresult result) noexcept {
  if (began.timer >= 0) stop_timer(began.timer, stream);
  if (began.kind == Kind::kNothing || result != cu::CUDA_SUCCESS) return;
  const bool is_kernel = began.kind == Kind::kKernel;
  bool first = false;
  bool fresh = false;
  {
    Locked locked(lock);
    first = append(began.kind, began.index, 0, began.at);
    ++(is_kernel ? tape.kernels[began.index].launches : tape.graphs[began.index].launches);
    fresh = is_kernel ? !tape.kernels[began.index].name : !tape.graphs[began.index].described;
  }
  if (first) expect_end();
  if (fresh) {
    note_device();
    if (is_kernel) describe(tape.kernels[began.index]);
    else describe_kernels_of(tape.graphs[began.index]);
  }
  returned();
}

void copied(Kind kind, std::uint64_t bytes, std::uint64_t at, bool is_wait) noexcept {
  if (closed.load(std::memory_order_relaxed)) return;
  bool first = false;
  {
    Locked locked(lock);
    first = append(kind, 0, bytes, at);
    tape.last_end = now_ns();
  }
  if (first) {
    expect_end();
    note_device();
  }
  if (is_wait) waited(at);
}

void waited(std::uint64_t at) noexcept {
  const std::uint64_t now = now_ns();
  if (closed.load(std::memory_order_relaxed)) return;
  {
    Locked locked(lock);
    if (tape.steps_seen == 0) return;  // for nothing of its own
    append(Kind::kWait, 0, now - at, at);
  }
  collect_timers();
  returned();
}

void instantiated(cu::CUgraphExec exec, cu::CUgraph graph) noexcept {
  if (closed.load(std::memory_order_relaxed)) return;
  BesideCaptures beside;
  Graph* into = nullptr;
  {
    Locked locked(lock);
    into = graph_of(exec);
  }
  if (!into) return;
  Items items;
  if (!visit_nodes(graph, read_node, &items)) items.lack();
  Locked locked(lock);
  items.give(*into);
}

void graph_ends(cu::CUgraphExec exec) noexcept {
  Locked locked(lock);
  for (std::uint32_t i = 0; i < tape.graphs_used; ++i)
    if (tape.graphs[i].handle == exec) tape.graphs[i].handle = nullptr;
}

void contexts_end() noexcept {
  collect_timers();
  forget_timers();
}

void add_sample(Timed& timed, Quality quality, std::uint32_t ns) noexcept {
  Locked locked(lock);
  if (closed.load(std::memory_order_relaxed) || quality < timed.quality) return;
  if (quality > timed.quality) timed.samples = 0;
  timed.quality = quality;
  timed.ns[timed.samples++ % Timed::kSamples] = ns;
}

const Tape* close_tape() noexcept {
  const bool taken = taken_soon();
  const bool before = closed.exchange(true);
  if (taken) lock.unlock();
  return before || tape.steps_seen == 0 ? nullptr : &tape;
}

void in_child() noexcept {
  lock.unlock();
  if (tape.steps_seen > 0) closed.store(true);
  forget_timers();  // their events are the parent's
  forget_end();
}

}  // namespace cotenant::record
