// What COTENANT_RECORD asks for: a process that is nobody's client runs as it is, and what it asks of the GPU is
// written to a file when it ends. Kernels in each of their shapes, how long they take, and the order in which
// they, copies and waits came. Kept in fixed pools; a program that outgrows them loses what does not fit, and
// the file says how much.
//
// Durations come from events around some launches, so the program pays for few: the first five launches of a
// kernel in a shape, then one in sixteen, at irregular distances so that a kernel that runs many times in an
// iteration is not always timed in the same place.
#pragma once

#include <cstdint>

#include "driver/abi.h"
#include "interposer/kernels/launch_shape.h"

namespace cotenant::record {

// How far a sample is to be trusted. Only those of the best kind seen are kept.
enum class Quality : std::uint8_t {
  kFirst,    // code may still have been loading
  kIdle,     // the stream had nothing to do: the time it took to launch is in it
  kBacklog,  // the GPU went from the work before it to this
};

// The durations of one kernel or graph.
struct Timed {
  static constexpr std::uint32_t kSamples = 64;  // the latest
  std::uint32_t sightings;
  std::uint32_t samples;
  Quality quality;
  std::uint32_t ns[kSamples];
};

inline constexpr int kUnknown = -1;

struct Kernel {
  LaunchShape shape;
  const char* name;  // as the driver has it: mangled; null until it was asked
  int registers;
  int static_shared;
  int blocks_per_sm;
  std::uint64_t launches;  // graphs not counted
  Timed timed;
};

enum class Kind : std::uint8_t { kKernel, kGraph, kCopyIn, kCopyOut, kWait, kNothing };

// A kernel or a copy, in a graph.
struct Item {
  Kind kind;
  std::uint32_t index;
  std::uint64_t bytes;
};

struct Graph {
  cu::CUgraphExec handle;  // null: destroyed
  bool known;              // what is in it
  bool described;          // its kernels are
  std::uint32_t first;     // of items
  std::uint32_t count;
  std::uint64_t launches;
  Timed timed;
};

struct Step {
  Kind kind;
  std::uint32_t index;   // of the kernel or graph
  std::uint64_t amount;  // bytes of a copy, ns of a wait
  std::uint64_t at;      // monotonic ns
  std::uint64_t gap;     // CPU time since the step before it returned
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
  static constexpr std::uint32_t kSteps = 1u << 15;  // the latest
  Kernel kernels[kKernels];
  Graph graphs[kGraphs];
  Item items[kItems];
  Step steps[kSteps];
  std::uint32_t kernels_used;
  std::uint32_t graphs_used;
  std::uint32_t items_used;
  std::uint64_t steps_seen;
  std::uint64_t lost;  // launches of kernels and graphs that found no place
  std::uint64_t began;
  std::uint64_t last_end;
  Device device;  // the first one seen
  bool device_known;
  bool several_devices;
};

// A driver call that is going on.
struct Began {
  std::uint64_t at;
  Kind kind;  // kNothing: not looked at
  std::uint32_t index;
  int timer;
};

[[nodiscard]] Began begin_kernel(const LaunchShape& shape, cu::CUstream stream) noexcept;
[[nodiscard]] Began begin_graph(cu::CUgraphExec graph, cu::CUstream stream) noexcept;
void end(const Began& began, cu::CUstream stream, cu::CUresult result) noexcept;

// After the call, which began at `at`.
void copied(Kind kind, std::uint64_t bytes, std::uint64_t at, bool waited) noexcept;
void waited(std::uint64_t at) noexcept;

void graph_ends(cu::CUgraphExec exec) noexcept;

// Events of a context that is about to go are void.
void contexts_end() noexcept;

void add_sample(Timed& timed, Quality quality, std::uint32_t ns) noexcept;

// Stops recording, once: null if that was done before, in this process or its parent, or nothing was recorded.
[[nodiscard]] const Tape* close_tape() noexcept;

// In a child of fork: what the parent recorded is the parent's to write.
void in_child() noexcept;

}  // namespace cotenant::record
