// Puts kernels and host functions into streams.
#include <algorithm>

#include "softgpu/driver/driver.h"
#include "softgpu/driver/launch.h"
#include "softgpu/entry/say.h"

namespace cotenant::soft {
namespace {

// A program whose results are wrong must not have to find out.
void say_without_code(const ptx::Entry& entry) {
  if (entry.described || entry.resumable || entry.sliced) return;
  static Once once;
  say(once,
      "the software GPU runs no code: each kernel takes %u us and leaves memory as it is, so results are not computed",
      unsigned(ptx::kPlainNs / kMicro));
}

}  // namespace

CUresult make_kernel(Call& call, const LaunchRequest& request, unsigned device, KernelWork& out) {
  auto* function = object<Function>(request.function);
  if (call.d.functions.count(function) == 0) return CUDA_ERROR_INVALID_HANDLE;
  const std::uint64_t threads = std::uint64_t{request.block[0]} * request.block[1] * request.block[2];
  if (threads == 0 || threads > function->entry->max_threads || request.block[2] > 64) return CUDA_ERROR_INVALID_VALUE;
  if (request.grid[0] == 0 || request.grid[1] == 0 || request.grid[2] == 0) return CUDA_ERROR_INVALID_VALUE;
  if (request.grid[0] > 2147483647u || request.grid[1] > 65535 || request.grid[2] > 65535) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (request.shared_bytes > unsigned(function->dynamic_shared_limit)) return CUDA_ERROR_INVALID_VALUE;
  say_without_code(*function->entry);
  auto spec = std::make_shared<LaunchSpec>();
  spec->function = request.function;
  std::copy_n(request.grid, 3, spec->grid);
  std::copy_n(request.block, 3, spec->block);
  spec->shared_bytes = request.shared_bytes;
  const CUresult error = pack_arguments(*function, request.parameters, request.extra, *spec);
  if (error != CUDA_SUCCESS) return error;
  out = kernel_work(*function, std::move(spec), call.d.region.device(device).sms.load());
  return CUDA_SUCCESS;
}

int blocks_per_sm(const Function& function, int block_size, std::size_t dynamic_shared) {
  if (block_size <= 0 || unsigned(block_size) > function.entry->max_threads) return 0;
  const int threads = (block_size + 31) / 32 * 32;
  const int by_threads = 2048 / threads;
  const int by_registers = 65536 / (int(std::max(1u, function.entry->registers)) * threads);
  const std::size_t shared = function.entry->shared_bytes + dynamic_shared + 1024;  // 1 KiB is the system's
  return std::min({by_threads, by_registers, int(233472 / shared), 32});
}

}  // namespace cotenant::soft

namespace cotenant::cu {

using namespace soft;

namespace {

// The effects of a launch's attributes.
struct Traits {
  bool cooperative = false;
  unsigned cluster = 1;  // blocks
  int priority = 0;
  bool has_priority = false;
};

CUresult launch(Call& call, CUstream handle, const LaunchRequest& request, const Traits& traits) {
  if (call.error != CUDA_SUCCESS && call.error != CUDA_ERROR_INVALID_CONTEXT) return call.error;
  call.error = CUDA_SUCCESS;
  Stream* stream = call.stream_with_room(handle);
  if (stream == nullptr) return call.error;
  const unsigned device = stream->context->root->device;
  KernelWork work;
  const CUresult error = make_kernel(call, request, device, work);
  if (error != CUDA_SUCCESS) return error;
  const Context& context = *stream->context;
  const unsigned sms = context.sm_limit != 0 ? context.sm_limit : call.d.region.device(device).sms.load();
  const std::uint64_t blocks = std::uint64_t{request.grid[0]} * request.grid[1] * request.grid[2];
  const int threads = int(request.block[0] * request.block[1] * request.block[2]);
  if (traits.cooperative) {
    const int resident = blocks_per_sm(*object<Function>(request.function), threads, request.shared_bytes);
    if (blocks > std::uint64_t(resident) * sms) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  // A cluster runs in one processing cluster of the GPU, of which a small partition may have too few SMs.
  if (traits.cluster > 1 && (blocks % traits.cluster != 0 || traits.cluster > std::min(16u, sms))) {
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  work.priority = traits.priority;
  work.has_priority = traits.has_priority;
  return submit(call.d, *stream, std::move(work));
}

CUresult legacy_launch(CUfunction f, unsigned width, unsigned height, CUstream stream) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  auto* function = object<Function>(f);
  if (call.d.functions.count(function) == 0) return CUDA_ERROR_INVALID_HANDLE;
  std::size_t size = function->arguments.size();
  std::vector<unsigned char> arguments = function->arguments;
  void* extra[] = {reinterpret_cast<void*>(kLaunchParamBufferPointer), arguments.data(),
                   reinterpret_cast<void*>(kLaunchParamBufferSize), &size, reinterpret_cast<void*>(kLaunchParamEnd)};
  LaunchRequest request{f,
                        {width, height, 1},
                        {function->block[0], function->block[1], function->block[2]},
                        function->shared_bytes,
                        nullptr,
                        extra};
  return launch(call, stream, request, {});
}

CUresult set_parameter(CUfunction hfunc, int offset, const void* bytes, std::size_t size) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  auto* function = object<Function>(hfunc);
  if (call.d.functions.count(function) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (offset < 0 || std::size_t(offset) + size > function->arguments.size()) return CUDA_ERROR_INVALID_VALUE;
  std::copy_n(static_cast<const unsigned char*>(bytes), size, function->arguments.data() + offset);
  return CUDA_SUCCESS;
}

CUresult submit_host(CUstream handle, HostWork work) {
  Call call;
  if (call.error != CUDA_SUCCESS && call.error != CUDA_ERROR_INVALID_CONTEXT) return call.error;
  call.error = CUDA_SUCCESS;
  if (work.function == nullptr && work.callback == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Stream* stream = call.stream_with_room(handle);
  if (stream == nullptr) return call.error;
  if (work.callback != nullptr && stream->capture) {
    stream->capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return submit(call.d, *stream, work);
}

}  // namespace

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                        unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                        unsigned int sharedMemBytes, CUstream hStream, void** kernelParams, void** extra) {
  Call call;
  return launch(
      call, hStream,
      {f, {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, kernelParams, extra}, {});
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Traits traits;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    switch (attribute.id) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: traits.cooperative = attribute.value.cooperative != 0; break;
      case CU_LAUNCH_ATTRIBUTE_PRIORITY: traits.priority = attribute.value.priority, traits.has_priority = true; break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: {
        const CUdim3& cluster = attribute.value.clusterDim;
        traits.cluster = cluster.x * cluster.y * cluster.z;
        break;
      }
      default: break;  // hints
    }
  }
  Call call;
  const LaunchRequest request{f,
                              {config->gridDimX, config->gridDimY, config->gridDimZ},
                              {config->blockDimX, config->blockDimY, config->blockDimZ},
                              config->sharedMemBytes,
                              kernelParams,
                              extra};
  return launch(call, config->hStream, request, traits);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                                   unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                                   unsigned int sharedMemBytes, CUstream hStream, void** kernelParams) {
  Call call;
  Traits traits;
  traits.cooperative = true;
  return launch(
      call, hStream,
      {f, {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, kernelParams, nullptr},
      traits);
}

CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* launchParamsList, unsigned int numDevices,
                                              unsigned int) {
  if (launchParamsList == nullptr || numDevices == 0) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < numDevices; ++i) {
    const CUDA_LAUNCH_PARAMS& p = launchParamsList[i];
    const CUresult error =
        cuLaunchCooperativeKernel(p.function, p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ,
                                  p.sharedMemBytes, p.hStream, p.kernelParams);
    if (error != CUDA_SUCCESS) return error;
  }
  return CUDA_SUCCESS;
}

CUresult cuLaunch(CUfunction f) { return legacy_launch(f, 1, 1, nullptr); }

CUresult cuLaunchGrid(CUfunction f, int grid_width, int grid_height) {
  return legacy_launch(f, unsigned(grid_width), unsigned(grid_height), nullptr);
}

CUresult cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream) {
  return legacy_launch(f, unsigned(grid_width), unsigned(grid_height), hStream);
}

CUresult cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  auto* function = object<Function>(hfunc);
  if (call.d.functions.count(function) == 0) return CUDA_ERROR_INVALID_HANDLE;
  const int shape[] = {x, y, z};
  for (int i = 0; i < 3; ++i) function->block[i] = unsigned(shape[i]);
  return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  auto* function = object<Function>(hfunc);
  if (call.d.functions.count(function) == 0) return CUDA_ERROR_INVALID_HANDLE;
  function->shared_bytes = bytes;
  return CUDA_SUCCESS;
}

CUresult cuParamSetSize(CUfunction hfunc, unsigned int numbytes) {
  return set_parameter(hfunc, int(numbytes), nullptr, 0);
}
CUresult cuParamSeti(CUfunction hfunc, int offset, unsigned int value) {
  return set_parameter(hfunc, offset, &value, sizeof value);
}
CUresult cuParamSetf(CUfunction hfunc, int offset, float value) {
  return set_parameter(hfunc, offset, &value, sizeof value);
}
CUresult cuParamSetv(CUfunction hfunc, int offset, void* ptr, unsigned int numbytes) {
  return set_parameter(hfunc, offset, ptr, numbytes);
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
  HostWork work;
  work.function = fn;
  work.data = userData;
  return submit_host(hStream, work);
}

CUresult cuLaunchHostFunc_v2(CUstream hStream, CUhostFn fn, void* userData, unsigned int syncMode) {
  return syncMode > 1 ? CUDA_ERROR_INVALID_VALUE : cuLaunchHostFunc(hStream, fn, userData);
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void* userData, unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  HostWork work;
  work.callback = callback;
  work.stream = hStream;
  work.data = userData;
  return submit_host(hStream, work);
}

}  // namespace cotenant::cu
