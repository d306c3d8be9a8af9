// Many values in, one out: trees over shared memory, over lanes, over blocks.

extern "C" __global__ void sum_shared(int n, const float *in, float *out) {
  __shared__ float part[128];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
#pragma unroll 1
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

__device__ __forceinline__ float warp_sum(float v) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  return v;
}

extern "C" __global__ void sum_warp(int n, const float *in, float *out) {
  __shared__ float part[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = warp_sum(i < n ? in[i] : 0.0f);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = warp_sum(threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
  }
}

extern "C" __global__ void argmax_rows(int cols, const float *in, int *where) {
  __shared__ float best[64];
  __shared__ int at[64];
  int t = threadIdx.x;
  float top = -INFINITY;
  int index = -1;
#pragma unroll 1
  for (int c = t; c < cols; c += 64) {
    float v = in[blockIdx.x * cols + c];
    if (v > top) top = v, index = c;
  }
  best[t] = top;
  at[t] = index;
  __syncthreads();
#pragma unroll 1
  for (int half = 32; half > 0; half /= 2) {
    if (t < half && best[t + half] > best[t]) best[t] = best[t + half], at[t] = at[t + half];
    __syncthreads();
  }
  if (t == 0) where[blockIdx.x] = at[0];
}

extern "C" __global__ void dot_f64(int n, const double *a, const double *b, double *out) {
  extern __shared__ double parts[];
  int t = threadIdx.x;
  double v = 0;
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) v += a[i] * b[i];
  parts[t] = v;
  __syncthreads();
#pragma unroll 1
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) parts[t] += parts[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = parts[0];
}

// The order of the additions is open: inputs are small whole numbers, so that the sum is exact.
extern "C" __global__ void sum_atomic(int n, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = warp_sum(i < n ? in[i] : 0.0f);
  if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}

// The block that finishes last adds up what the others left: no block waits for another.
extern "C" __global__ void sum_last_block(int n, const float *in, float *parts, unsigned *done,
                                          float *out) {
  __shared__ float part[64];
  __shared__ bool last;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  part[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
#pragma unroll 1
  for (int half = 32; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) {
    parts[blockIdx.x] = part[0];
    __threadfence();
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    float sum = 0;
#pragma unroll 1
    for (int b = 0; b < gridDim.x; b++) sum += ((volatile float *)parts)[b];
    out[0] = sum;
  }
}

extern "C" __global__ void minmax_redux(int n, const int *in, int *low, unsigned *high, unsigned *bits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? in[i] : 0;
  int lo = __reduce_min_sync(~0u, v);
  unsigned hi = __reduce_max_sync(~0u, (unsigned)v);
  unsigned x = __reduce_xor_sync(~0u, (unsigned)v) ^ __reduce_or_sync(~0u, (unsigned)v) ^
               __reduce_and_sync(~0u, (unsigned)v) ^ __reduce_add_sync(~0u, (unsigned)v);
  if (threadIdx.x % 32 == 0) {
    atomicMin(low, lo);
    atomicMax(high, hi);
    atomicXor(bits, x);
  }
}

extern "C" __global__ void count_votes(int n, const int *in, int *counts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? in[i] : 0;
  int positive = __syncthreads_count(v > 0);
  int all = __syncthreads_and(v != 0);
  int any = __syncthreads_or(v == 7);
  if (threadIdx.x == 0) counts[blockIdx.x] = positive * 4 + (all ? 2 : 0) + (any ? 1 : 0);
}
