#pragma once
// Turns the parameters of a launch into its work; used by launches, graph nodes and occupancy queries.
#include "softgpu/driver/code.h"

namespace cotenant::soft {

class Call;

struct LaunchRequest {
  CUfunction function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** parameters;
  void** extra;
};

// Checks the request as the driver does and copies its arguments.
CUresult make_kernel(Call& call, const LaunchRequest& request, unsigned device, KernelWork& out);

// How many blocks of this size one SM holds: by threads, 32 registers a thread, shared memory, and 32 at most.
int blocks_per_sm(const Function& function, int block_size, std::size_t dynamic_shared);

}  // namespace cotenant::soft
