// Prefix sums: in a block, in a warp, and over the whole grid with look-back to earlier blocks.

extern "C" __global__ void scan_block(int n, const int *in, int *out) {
  __shared__ int line[2][128];
  int t = threadIdx.x, i = blockIdx.x * 128 + t, from = 0;
  line[0][t] = i < n ? in[i] : 0;
  __syncthreads();
#pragma unroll 1
  for (int d = 1; d < 128; d *= 2, from ^= 1) {
    line[from ^ 1][t] = line[from][t] + (t >= d ? line[from][t - d] : 0);
    __syncthreads();
  }
  if (i < n) out[i] = line[from][t];
}

__device__ __forceinline__ int warp_scan(int v) {
  for (int d = 1; d < 32; d *= 2) {
    int other = __shfl_up_sync(~0u, v, d);
    if (threadIdx.x % 32 >= d) v += other;
  }
  return v;
}

extern "C" __global__ void scan_warp(int n, const int *in, int *out) {
  __shared__ int sums[4];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  int v = warp_scan(i < n ? in[i] : 0);
  if (t % 32 == 31) sums[t / 32] = v;
  __syncthreads();
  int before = 0;
  for (int w = 0; w < 4; w++) before += w < t / 32 ? sums[w] : 0;
  if (i < n) out[i] = v + before;
}

// Each block waits for the one before it: right as long as blocks start in rising order.
extern "C" __global__ void scan_lookback(int n, const int *in, int *out, volatile int *prefix,
                                         volatile int *ready) {
  __shared__ int sums[4], start;
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  int v = warp_scan(i < n ? in[i] : 0);
  if (t % 32 == 31) sums[t / 32] = v;
  __syncthreads();
  if (t == 0) {
    int before = 0;
    if (blockIdx.x > 0) {
      while (ready[blockIdx.x - 1] == 0) {
      }
      __threadfence();
      before = prefix[blockIdx.x - 1];
    }
    prefix[blockIdx.x] = before + sums[0] + sums[1] + sums[2] + sums[3];
    __threadfence();
    ready[blockIdx.x] = 1;
    start = before;
  }
  __syncthreads();
  int before = start;
  for (int w = 0; w < 4; w++) before += w < t / 32 ? sums[w] : 0;
  if (i < n) out[i] = v + before;
}

// A warp looks back at 32 blocks at once and adds up what they have until one knows its prefix. Entries hold a sum and
// what it is: 0 nothing yet, 1 of the block, 2 of all up to it. 32 entries before the first block's say nothing is there.
extern "C" __global__ void scan_window(int n, const int *in, int *out, volatile unsigned long long *state) {
  int t = threadIdx.x, block = blockIdx.x, i = block * 32 + t;
  int v = warp_scan(i < n ? in[i] : 0);
  int sum = __shfl_sync(~0u, v, 31), before = 0;
  if (t == 0) state[32 + block] = (unsigned long long)sum << 32 | (block == 0 ? 2 : 1);
  if (block > 0) {
    for (int at = block - 1 - t;; at -= 32) {
      unsigned long long entry;
      do {
        entry = state[32 + at];
      } while (__any_sync(~0u, at >= 0 && (unsigned)entry == 0));
      unsigned known = __ballot_sync(~0u, at < 0 || (unsigned)entry == 2);
      int last = known ? __ffs(known) - 1 : 32;
      before += __reduce_add_sync(~0u, t <= last ? (unsigned)(entry >> 32) : 0);
      if (known) break;
    }
    if (t == 0) state[32 + block] = (unsigned long long)(before + sum) << 32 | 2;
  }
  if (i < n) out[i] = v + before;
}

// As before, with the block's place taken from a ticket, so that no order of starting is assumed.
extern "C" __global__ void scan_ticket(int n, const int *in, int *out, unsigned *ticket,
                                       unsigned long long *state) {
  __shared__ int sums[4], start;
  __shared__ unsigned place;
  int t = threadIdx.x;
  if (t == 0) place = atomicAdd(ticket, 1);
  __syncthreads();
  int i = place * 128 + t;
  int v = warp_scan(i < n ? in[i] : 0);
  if (t % 32 == 31) sums[t / 32] = v;
  __syncthreads();
  if (t == 0) {
    int total = sums[0] + sums[1] + sums[2] + sums[3], before = 0;
    atomicExch(&state[place], 1ULL << 32 | (unsigned)total);
#pragma unroll 1
    for (int b = (int)place - 1; b >= 0;) {
      unsigned long long seen = atomicAdd(&state[b], 0);
      if (seen >> 32 == 0) continue;
      before += (int)(unsigned)seen;
      if (seen >> 32 == 2) break;
      b--;
    }
    atomicExch(&state[place], 2ULL << 32 | (unsigned)(before + total));
    start = before;
  }
  __syncthreads();
  int before = start;
  for (int w = 0; w < 4; w++) before += w < t / 32 ? sums[w] : 0;
  if (i < n) out[i] = v + before;
}

extern "C" __global__ void segmented_max(int n, const int *heads, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  float v = i < n ? in[i] : -INFINITY;
  unsigned mask = __ballot_sync(~0u, i < n && heads[i] != 0) | 1u;
  int first = 31 - __clz(mask & (0xffffffffu >> (31 - lane)));
  for (int d = 1; d < 32; d *= 2) {
    float other = __shfl_up_sync(~0u, v, d);
    if (lane - d >= first) v = fmaxf(v, other);
  }
  if (i < n) out[i] = v;
}
