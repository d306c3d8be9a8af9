// Counting, sorting, selecting: scattered writes and the atomics that make them safe.

extern "C" __global__ void histogram_shared(int n, const unsigned char *in, unsigned *bins) {
  __shared__ unsigned local[64];
  if (threadIdx.x < 64) local[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[in[i] % 64], 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

extern "C" __global__ void histogram_global(int n, const int *in, unsigned long long *bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[in[i] & 31], 1ULL);
}

// Lanes with one key elect one of them to add for all.
extern "C" __global__ void histogram_match(int n, const int *in, unsigned *bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int key = i < n ? in[i] & 15 : 16;
  unsigned same = __match_any_sync(~0u, key);
  if (key < 16 && threadIdx.x % 32 == __ffs(same) - 1) atomicAdd(&bins[key], __popc(same));
}

extern "C" __global__ void sort_bitonic(int *data) {
  __shared__ int line[64];
  int t = threadIdx.x;
  line[t] = data[blockIdx.x * 64 + t];
#pragma unroll 1
  for (int size = 2; size <= 64; size *= 2)
#pragma unroll 1
    for (int d = size / 2; d > 0; d /= 2) {
      __syncthreads();
      int other = t ^ d;
      if (other > t && (line[t] > line[other]) == ((t & size) == 0)) {
        int keep = line[t];
        line[t] = line[other];
        line[other] = keep;
      }
    }
  __syncthreads();
  data[blockIdx.x * 64 + t] = line[t];
}

// The survivors' order inside the output is fixed in a block; each block has its own piece of the output.
extern "C" __global__ void compact_block(int n, const int *in, int *out, int *counts) {
  __shared__ int offset[5];
  int t = threadIdx.x, i = blockIdx.x * 128 + t, lane = t % 32;
  bool keep = i < n && in[i] % 3 == 0;
  unsigned votes = __ballot_sync(~0u, keep);
  if (lane == 0) offset[t / 32 + 1] = __popc(votes);
  if (t == 0) offset[0] = 0;
  __syncthreads();
  if (t == 0)
    for (int w = 1; w < 5; w++) offset[w] += offset[w - 1];
  __syncthreads();
  if (keep) out[blockIdx.x * 128 + offset[t / 32] + __popc(votes & ((1u << lane) - 1))] = in[i];
  if (t == 0) counts[blockIdx.x] = offset[4];
}

// The order in which blocks get their piece of the output is open; the count and the sum are not.
extern "C" __global__ void compact_atomic(int n, const int *in, int *out, unsigned *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] == 5) out[atomicAdd(count, 1)] = 5;
}

extern "C" __global__ void top_of_row(int cols, const unsigned *in, unsigned *out) {
  unsigned best = 0;
#pragma unroll 1
  for (int c = threadIdx.x; c < cols; c += 32) best = max(best, in[blockIdx.x * cols + c]);
#pragma unroll 1
  for (int round = 0; round < 4; round++) {
    unsigned top = __reduce_max_sync(~0u, best);
    if (threadIdx.x == 0) out[blockIdx.x * 4 + round] = top;
    if (best == top) best = 0;
    __syncwarp();
  }
}
