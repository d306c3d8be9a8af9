// A program of the CUDA runtime, as nvcc makes one: allocates, copies, launches, captures, waits, ends.
#include <cuda_runtime.h>

#include <cstdio>

#define OK(call)                                                          \
  do {                                                                    \
    const cudaError_t error_ = call;                                      \
    if (error_ != cudaSuccess) {                                          \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_)); \
      return 1;                                                           \
    }                                                                     \
  } while (0)

__device__ int counter = 5;
__constant__ float factors[4];

__global__ void __launch_bounds__(256) scale(float* data, int count, float factor) {
  __shared__ float tile[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < count ? data[i] * factor + factors[0] : 0;
  __syncthreads();
  if (i < count) data[i] = tile[threadIdx.x];
  if (i == 0) atomicAdd(&counter, 1);
}

int main() {
  constexpr int kCount = 1024;
  int devices = 0, runtime = 0, seen = 0;
  OK(cudaGetDeviceCount(&devices));
  OK(cudaRuntimeGetVersion(&runtime));

  float host[kCount] = {3};
  float* data = nullptr;
  OK(cudaMalloc(&data, sizeof host));
  OK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
  OK(cudaMemcpyFromSymbol(&seen, counter, sizeof seen));
  const float set[4] = {1, 2, 3, 4};
  OK(cudaMemcpyToSymbol(factors, set, sizeof set));
  scale<<<4, 256>>>(data, kCount, 2.f);
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());
  scale<<<4, 512>>>(data, kCount, 2.f);
  const bool too_wide = cudaGetLastError() != cudaSuccess;

  cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, scale));

  cudaStream_t stream, side;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  cudaEvent_t begin, end;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  OK(cudaEventRecord(begin, stream));
  for (int i = 0; i < 50; ++i) scale<<<4, 256, 0, stream>>>(data, kCount, 2.f);
  OK(cudaEventRecord(end, stream));
  OK(cudaStreamWaitEvent(side, end, 0));
  scale<<<4, 256, 0, side>>>(data, kCount, 2.f);
  OK(cudaStreamSynchronize(side));
  float ms = 0;
  OK(cudaEventElapsedTime(&ms, begin, end));

  cudaGraph_t graph;
  cudaGraphExec_t executable;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 5; ++i) scale<<<4, 256, 0, stream>>>(data, kCount, 2.f);
  OK(cudaStreamEndCapture(stream, &graph));
  std::size_t nodes = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  OK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 3; ++i) OK(cudaGraphLaunch(executable, stream));
  OK(cudaStreamSynchronize(stream));

  void* pooled = nullptr;
  OK(cudaMallocAsync(&pooled, 1 << 20, stream));
  OK(cudaFreeAsync(pooled, stream));
  float back = 0;
  OK(cudaMemcpy(&back, data, sizeof back, cudaMemcpyDeviceToHost));
  OK(cudaFree(data));
  // Ends the context; the next call makes another, with the code and the variables as they were.
  OK(cudaDeviceReset());
  int again = 0;
  OK(cudaMalloc(&data, sizeof host));
  scale<<<4, 256>>>(data, kCount, 2.f);
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpyFromSymbol(&again, counter, sizeof again));
  OK(cudaDeviceReset());
  std::printf(
      "{\"devices\":%d,\"runtime\":%d,\"counter\":%d,\"back\":%g,\"nodes\":%zu,\"threads\":%d,\"shared\":%zu,"
      "\"again\":%d,\"tooWide\":%s,\"longEnough\":%s}\n",
      devices, runtime / 10, seen, double(back), nodes, attributes.maxThreadsPerBlock, attributes.sharedSizeBytes,
      again, too_wide ? "true" : "false", ms >= .5f ? "true" : "false");
}
