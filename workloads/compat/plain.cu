// The CUDA runtime as nvcc links it: launches, a graph, events, async copies on two streams. The result is
// checked against the CPU; the digest is FNV-1a over it.
//   nvcc -O2 -o plain plain.cu && ./plain
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                        \
  do {                                                                                     \
    const cudaError_t result = (call);                                                     \
    if (result != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result));                 \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

__global__ void saxpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

int main() {
  constexpr int n = 1 << 20;
  constexpr int rounds = 100;
  constexpr size_t bytes = n * sizeof(float);
  float *x, *y, *dx, *dy;
  CHECK(cudaMallocHost(&x, bytes));
  CHECK(cudaMallocHost(&y, bytes));
  CHECK(cudaMalloc(&dx, bytes));
  CHECK(cudaMalloc(&dy, bytes));
  for (int i = 0; i < n; i++) {
    x[i] = static_cast<float>(i % 1000);
    y[i] = 1.0f;
  }
  cudaStream_t copying, computing;
  cudaEvent_t copied;
  CHECK(cudaStreamCreate(&copying));
  CHECK(cudaStreamCreateWithFlags(&computing, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
  CHECK(cudaMemcpyAsync(dx, x, bytes, cudaMemcpyHostToDevice, copying));
  CHECK(cudaMemcpyAsync(dy, y, bytes, cudaMemcpyHostToDevice, copying));
  CHECK(cudaEventRecord(copied, copying));
  CHECK(cudaStreamWaitEvent(computing, copied, 0));

  // Half of the rounds as launches, half as replays of a graph of five. Whole numbers: exact in float.
  for (int i = 0; i < rounds / 2; i++) saxpy<<<n / 256, 256, 0, computing>>>(2.0f, dx, dy, n);
  CHECK(cudaGetLastError());
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamBeginCapture(computing, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 5; i++) saxpy<<<n / 256, 256, 0, computing>>>(2.0f, dx, dy, n);
  CHECK(cudaStreamEndCapture(computing, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < rounds / 10; i++) CHECK(cudaGraphLaunch(executable, computing));
  CHECK(cudaMemcpyAsync(y, dy, bytes, cudaMemcpyDeviceToHost, computing));
  CHECK(cudaStreamSynchronize(computing));

  std::uint64_t digest = 14695981039346656037ull;
  for (int i = 0; i < n; i++) {
    if (y[i] != 1.0f + 2.0f * rounds * x[i]) {
      std::fprintf(stderr, "y[%d] is %g, not %g\n", i, y[i], 1.0f + 2.0f * rounds * x[i]);
      return 1;
    }
    const auto* at = reinterpret_cast<const unsigned char*>(&y[i]);
    for (size_t b = 0; b < sizeof(float); b++) digest = (digest ^ at[b]) * 1099511628211ull;
  }
  std::printf("digest %016llx\n", static_cast<unsigned long long>(digest));
  return 0;
}
