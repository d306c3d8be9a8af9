#pragma once
// Converts the driver's parameters of each kind of graph node to work, and back.
#include "softgpu/driver/driver.h"

namespace cotenant::soft {

Graph* known_graph(Call& call, CUgraph handle);
Node* known_node(Call& call, CUgraphNode handle);

CUresult work_of(Call& call, const CUDA_KERNEL_NODE_PARAMS_v2& params, Work& out);
CUresult work_of(Call& call, const CUDA_MEMCPY3D& params, Work& out);
CUresult work_of(Call& call, const CUDA_MEMSET_NODE_PARAMS& params, Work& out);
CUresult work_of(Call& call, const CUDA_HOST_NODE_PARAMS& params, Work& out);
CUresult work_of(Call& call, const CUDA_BATCH_MEM_OP_NODE_PARAMS& params, Work& out);

CUDA_KERNEL_NODE_PARAMS_v2 widen(const CUDA_KERNEL_NODE_PARAMS_v1& params);

}  // namespace cotenant::soft
