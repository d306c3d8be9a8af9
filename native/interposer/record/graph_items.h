// The items of a graph: its kernels and its copies to and from the host. A graph is read when it is made executable.
#pragma once

#include "driver/abi.h"

namespace cotenant::record {

void note_instantiation(cu::CUgraphExec exec, cu::CUgraph graph) noexcept;

}  // namespace cotenant::record
