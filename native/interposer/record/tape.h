// A recording, for COTENANT_RECORD. The process is not a client and runs unchanged. Its use of the GPU is written to a
// file when it ends: kernels in each of their shapes, their durations, and the order of kernels, copies and waits.
// Pools have a fixed size. What does not fit is lost, and the file says how much.
//
// Durations come from events around some launches. To keep the cost low, these are the first five launches of a kernel
// in a shape, then one in sixteen. The distances are irregular, so that a kernel that runs many times in an iteration
// is not always timed in the same place.
#pragma once

#include <cstdint>

#include "driver/abi.h"
#include "interposer/kernels/launch_shape.h"

namespace cotenant::record {

// How reliable a sample is. Only samples of the best quality seen are stored.
enum class Quality : std::uint8_t {
  kFirst,  // code may still have been loading
  kIdle,  // the stream was idle: the sample includes the time of the launch
  kBacklog,  // the GPU went straight from the previous work to this
};

// The durations of one kernel or graph.
struct Durations {
  static constexpr std::uint32_t kSamples = 64;  // the latest ones
  std::uint32_t sightings;
  std::uint32_t samples;
  Quality quality;
  std::uint32_t ns[kSamples];
};

inline constexpr int kUnknown = -1;

struct Kernel {
  LaunchShape shape;
  const char* name;  // mangled, from the driver; null until the driver was asked
  int registers;
  int static_shared;
  int blocks_per_sm;
  std::uint64_t launches;  // outside of graphs
  Durations timed;
};

enum class Kind : std::uint8_t { kKernel, kGraph, kCopyIn, kCopyOut, kWait, kNothing };

// A kernel or a copy in a graph.
struct Item {
  Kind kind;
  std::uint32_t index;
  std::uint64_t bytes;
};

struct Graph {
  cu::CUgraphExec handle;  // null: destroyed
  bool known;  // whether its contents are known
  bool described;  // whether its kernels are described
  std::uint32_t first;  // of items
  std::uint32_t count;
  std::uint64_t launches;
  Durations timed;
};

struct Step {
  Kind kind;
  std::uint32_t index;  // of the kernel or graph
  std::uint64_t amount;  // bytes of a copy, ns of a wait
  std::uint64_t at;  // monotonic ns
  std::uint64_t gap;  // CPU time since the previous step returned
};

struct Device {
  cu::CUdevice ordinal;
  char name[256];  // empty: the driver did not say
  int major;
  int minor;
  int sms;
};

struct Tape {
  static constexpr std::uint32_t kKernels = 4096;
  static constexpr std::uint32_t kGraphs = 1024;
  static constexpr std::uint32_t kItems = 1u << 18;
  static constexpr std::uint32_t kSteps = 1u << 15;  // the latest ones
  Kernel kernels[kKernels];
  Graph graphs[kGraphs];
  Item items[kItems];
  Step steps[kSteps];
  std::uint32_t kernels_used;
  std::uint32_t graphs_used;
  std::uint32_t items_used;
  std::uint64_t steps_seen;
  std::uint64_t lost;  // launches of kernels and graphs that did not fit
  std::uint64_t began;
  std::uint64_t last_end;
  Device device;  // the first one seen
  bool device_known;
  bool several_devices;
};

// A driver call in progress.
struct Start {
  std::uint64_t at;
  Kind kind;  // kNothing: not recorded
  std::uint32_t index;
  int timer;
};

[[nodiscard]] Start begin_kernel(const LaunchShape& shape, cu::CUstream stream) noexcept;
[[nodiscard]] Start begin_graph(cu::CUgraphExec graph, cu::CUstream stream) noexcept;
void end(const Start& began, cu::CUstream stream, cu::CUresult result) noexcept;

// Called after the copy, which began at `at`.
void note_copy(Kind kind, std::uint64_t bytes, std::uint64_t at, bool waited) noexcept;
void note_wait(std::uint64_t at) noexcept;

void graph_ends(cu::CUgraphExec exec) noexcept;

// The events of a context that is about to end are discarded.
void contexts_end() noexcept;

void add_sample(Durations& timed, Quality quality, std::uint32_t ns) noexcept;

// Stops the recording. Null if it was already stopped, in this process or its parent, or if nothing was recorded.
[[nodiscard]] const Tape* close_tape() noexcept;

// Called in a forked child. The parent writes what the parent recorded.
void in_child() noexcept;

}  // namespace cotenant::record
