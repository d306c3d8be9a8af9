// Long kernels of usual kinds, as nvcc compiles them, for `inside` to stop. Each is done 1 to 10 ms on an H200.
//
// `seen`, if given, is a word of the host to which blocks write that they are done, so that a CPU sees when the last of
// them was; where there are thousands in a microsecond, only some of them do.

extern "C" {

__device__ void say(volatile unsigned* seen, unsigned every) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const bool first = threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0;
  if (seen && first && block % every == 0) *seen = block + 1;
}

// Bound by memory, blocks of a few microseconds: claiming them is the largest part that it can be.
__global__ void scale(const float* x, float* y, unsigned n, volatile unsigned* seen) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 1.5f * x[i] + y[i];
  say(seen, 512);
}

// Bound by arithmetic, blocks of about 100 us.
__global__ void burn(const float* x, float* y, unsigned n, volatile unsigned* seen) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 10000; ++k) v = v * 0.999f + 0.001f;
  y[i] += v;
  say(seen, 1);
}

// A product of two 2,048 x 2,048 matrices through shared memory.
__global__ void __launch_bounds__(1024) product(const float* x, float* y, unsigned n, volatile unsigned* seen) {
  __shared__ float a[32][33], b[32][33];
  const unsigned row = blockIdx.y * 32 + threadIdx.y;
  const unsigned column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < n; k += 32) {
    a[threadIdx.y][threadIdx.x] = x[row * n + k + threadIdx.x];
    b[threadIdx.y][threadIdx.x] = x[(k + threadIdx.y) * n + column];
    __syncthreads();
    for (unsigned j = 0; j < 32; ++j) sum += a[threadIdx.y][j] * b[j][threadIdx.x];
    __syncthreads();
  }
  y[row * n + column] += sum;
  say(seen, 4);
}

// A row of 4,096 a block: two reductions over shared memory.
__global__ void softmax(const float* x, float* y, unsigned n, volatile unsigned* seen) {
  __shared__ float part[256];
  const float* row = x + 4096ull * blockIdx.x;
  float most = -1e30f;
  for (unsigned i = threadIdx.x; i < 4096; i += 256) most = fmaxf(most, row[i]);
  part[threadIdx.x] = most;
  for (unsigned half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
  }
  __syncthreads();
  most = part[0];
  __syncthreads();
  float sum = 0;
  for (unsigned i = threadIdx.x; i < 4096; i += 256) sum += __expf(row[i] - most);
  part[threadIdx.x] = sum;
  for (unsigned half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  __syncthreads();
  sum = part[0];
  if (4096ull * blockIdx.x < n)
    for (unsigned i = threadIdx.x; i < 4096; i += 256) y[4096ull * blockIdx.x + i] += __expf(row[i] - most) / sum;
  say(seen, 16);
}

// Threads that return before others wait.
__global__ void leaving(const float* x, float* y, unsigned n, volatile unsigned* seen) {
  __shared__ float part[256];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 256 >= 200) return;
  part[threadIdx.x] = x[i];
  __syncthreads();
  float sum = 0;
  for (unsigned j = 0; j < 200; ++j) sum += part[(threadIdx.x + j) % 200];
  if (i < n) y[i] += sum;
  say(seen, 64);
}

// Three dimensions, 512 each; a block is 32 x 8 and goes 8 deep.
__global__ void stencil(const float* x, float* y, unsigned n, volatile unsigned* seen) {
  const unsigned i = blockIdx.x * 32 + threadIdx.x;
  const unsigned j = blockIdx.y * 8 + threadIdx.y;
  for (unsigned k = blockIdx.z * 8; k < blockIdx.z * 8 + 8; ++k) {
    if (i == 0 || j == 0 || k == 0 || i == 511 || j == 511 || k == 511) continue;
    const unsigned at = (k * 512 + j) * 512 + i;
    if (at < n)
      y[at] += 0.5f * x[at] + 0.1f * (x[at - 1] + x[at + 1] + x[at - 512] + x[at + 512] + x[at - 512 * 512] + x[at + 512 * 512]);
  }
  say(seen, 16);
}

__global__ void fill(float* x, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] = static_cast<float>((i * 2654435761u) >> 8) / 16777216.0f;
}

__global__ void differing(const unsigned* a, const unsigned* b, unsigned n, unsigned* count) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    if (a[i] != b[i]) atomicAdd(count, 1u);
}

// A node of a graph: about as long as it is told, on every SM.
__global__ void node(volatile unsigned* seen, unsigned number, unsigned iterations, float* y) {
  float v = static_cast<float>(threadIdx.x);
  for (unsigned k = 0; k < iterations; ++k) v = v * 0.999f + 0.001f;
  if (v < 0) *y = v;
  if (seen && blockIdx.x == 0 && threadIdx.x == 0) *seen = number;
}

}
