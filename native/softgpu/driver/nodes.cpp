#include "softgpu/driver/nodes.h"

#include <algorithm>

#include "softgpu/driver/copy.h"
#include "softgpu/driver/launch.h"

namespace cotenant::soft {

CUresult work_of(Call& call, const CUDA_KERNEL_NODE_PARAMS_v2& params, Work& out) {
  LaunchRequest request{params.func != nullptr ? params.func : reinterpret_cast<CUfunction>(params.kern),
                        {params.gridDimX, params.gridDimY, params.gridDimZ},
                        {params.blockDimX, params.blockDimY, params.blockDimZ},
                        params.sharedMemBytes,
                        params.kernelParams,
                        params.extra};
  const Context* context = params.ctx != nullptr ? object<Context>(params.ctx) : call.context;
  KernelWork kernel;
  const CUresult error = make_kernel(call, request, context == nullptr ? 0 : context->device, kernel);
  out = std::move(kernel);
  return error;
}

CUresult work_of(Call& call, const CUDA_MEMCPY3D& params, Work& out) {
  CopyWork copy;
  if (!boxes(call.d, params, copy)) return CUDA_ERROR_INVALID_VALUE;
  copy.direction = direction_of(call.d, copy);
  out = std::move(copy);
  return CUDA_SUCCESS;
}

CUresult work_of(Call& call, const CUDA_MEMSET_NODE_PARAMS& params, Work& out) {
  const unsigned element = params.elementSize;
  if ((element != 1 && element != 2 && element != 4) || params.width == 0 || params.height == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  FillWork fill;
  fill.to = {std::uintptr_t(params.dst), params.height > 1 ? params.pitch : params.width * element, 0};
  fill.width = params.width;
  fill.height = params.height;
  fill.value = params.value;
  fill.element = element;
  const std::size_t reach = fill.to.pitch * (fill.height - 1) + fill.width * element;
  if (call.d.memory.find(params.dst, reach) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = fill;
  return CUDA_SUCCESS;
}

CUresult work_of(Call&, const CUDA_HOST_NODE_PARAMS& params, Work& out) {
  if (params.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  HostWork host;
  host.function = params.fn;
  host.data = params.userData;
  out = host;
  return CUDA_SUCCESS;
}

CUresult work_of(Call&, const CUDA_BATCH_MEM_OP_NODE_PARAMS& params, Work& out) {
  if (params.paramArray == nullptr || params.count == 0 || params.count > 256 || params.flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out = WordsWork{{params.paramArray, params.paramArray + params.count}};
  return CUDA_SUCCESS;
}

CUDA_KERNEL_NODE_PARAMS_v2 widen(const CUDA_KERNEL_NODE_PARAMS_v1& p) {
  return {p.func,      p.gridDimX,       p.gridDimY,     p.gridDimZ, p.blockDimX, p.blockDimY,
          p.blockDimZ, p.sharedMemBytes, p.kernelParams, p.extra,    nullptr,     nullptr};
}

}  // namespace cotenant::soft
