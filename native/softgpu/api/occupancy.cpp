// How many blocks fit on an SM, by the formula in launch.h.
#include <algorithm>

#include "softgpu/driver/driver.h"
#include "softgpu/driver/launch.h"

namespace cotenant::cu {

using namespace soft;

namespace {

Function* known_function(Call& call, CUfunction handle) {
  if (call.error != CUDA_SUCCESS) return nullptr;
  auto* function = object<Function>(handle);
  if (call.d.functions.count(function) == 0) call.error = CUDA_ERROR_INVALID_HANDLE;
  return call.error == CUDA_SUCCESS ? function : nullptr;
}

}  // namespace

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize) {
  Call call;
  const Function* function = known_function(call, func);
  if (function == nullptr) return call.error;
  if (numBlocks == nullptr || blockSize <= 0) return CUDA_ERROR_INVALID_VALUE;
  *numBlocks = blocks_per_sm(*function, blockSize, dynamicSMemSize);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, CUfunction func, int blockSize,
                                                              size_t dynamicSMemSize, unsigned int) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, func, blockSize, dynamicSMemSize);
}

CUresult cuOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, CUfunction func,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
                                          int blockSizeLimit) {
  Call call;
  const Function* function = known_function(call, func);
  if (function == nullptr) return call.error;
  if (minGridSize == nullptr || blockSize == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int limit = int(function->entry->max_threads);
  if (blockSizeLimit > 0) limit = std::min(limit, blockSizeLimit);
  int best = 0;
  for (int size = 32; size <= limit; size += 32) {  // on a tie the larger block wins, as in the driver
    const bool varies = blockSizeToDynamicSMemSize != nullptr;
    const std::size_t shared = varies ? blockSizeToDynamicSMemSize(size) : dynamicSMemSize;
    const int threads = size * blocks_per_sm(*function, size, shared);
    if (threads < best) continue;
    best = threads;
    *blockSize = size;
    *minGridSize = threads / size * int(call.d.region.device(call.context->device).sms.load());
  }
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* minGridSize, int* blockSize, CUfunction func,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit, unsigned int) {
  return cuOccupancyMaxPotentialBlockSize(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
                                          blockSizeLimit);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, CUfunction func, int numBlocks,
                                                 int blockSize) {
  Call call;
  if (known_function(call, func) == nullptr) return call.error;
  if (dynamicSmemSize == nullptr || numBlocks <= 0 || blockSize <= 0) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t share = 233472 / std::size_t(numBlocks);
  *dynamicSmemSize = share > 1024 ? std::min<std::size_t>(share - 1024, 232448) : 0;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int* numClusters, CUfunction func, const CUlaunchConfig* config) {
  Call call;
  const Function* function = known_function(call, func);
  if (function == nullptr) return call.error;
  if (numClusters == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned cluster = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const CUdim3& shape = config->attrs[i].value.clusterDim;
    cluster = std::max(1u, shape.x * shape.y * shape.z);
  }
  const Stream* stream = call.stream(config->hStream);
  if (stream == nullptr) return call.error;
  const unsigned limit = stream->context->sm_limit;
  const unsigned sms = limit != 0 ? limit : call.d.region.device(call.context->device).sms.load();
  const int blocks =
      blocks_per_sm(*function, int(config->blockDimX * config->blockDimY * config->blockDimZ), config->sharedMemBytes);
  *numClusters = cluster > std::min(16u, sms) ? 0 : int(sms * unsigned(blocks) / cluster);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialClusterSize(int* clusterSize, CUfunction func, const CUlaunchConfig* config) {
  Call call;
  if (known_function(call, func) == nullptr) return call.error;
  if (clusterSize == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *clusterSize = 8;
  return CUDA_SUCCESS;
}

}  // namespace cotenant::cu
