// Control flow that a pass can get wrong: early exits around barriers, loops that lanes leave at different times.

extern "C" __global__ void exit_before_barrier(int n, const int *in, int *out) {
  __shared__ int line[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (i >= n) return;
  line[t] = in[i];
  __syncthreads();
  int from = blockIdx.x * 64 + (t ^ 1) < n ? t ^ 1 : t;
  out[i] = line[from] * 2;
}

// Whole warps leave; those that stay meet at a barrier again and again.
extern "C" __global__ void exit_by_warp(const int *in, int *out) {
  __shared__ int line[128];
  int t = threadIdx.x, warp = t / 32;
  line[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
#pragma unroll 1
  for (int round = 0; round < 3; round++) {
    if (warp == round + 1) {
      out[blockIdx.x * 128 + t] = line[t] + round;
      return;
    }
    __syncthreads();
    line[t] += line[t ^ 16];
    __syncthreads();
  }
  out[blockIdx.x * 128 + t] = line[t];
}

extern "C" __global__ void exit_in_loop(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int step = 0; step < 20; step++) {
    if (i * step > n) return;
    out[i] = in[i] + step;
  }
}

extern "C" __global__ void exit_by_block(int limit, const int *in, int *out) {
  if (blockIdx.x % 3 == 1 && (int)blockIdx.x < limit) return;
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, in[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = total + threadIdx.x;
}

extern "C" __global__ void collatz(int n, const unsigned *in, unsigned *steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = in[i], count = 0;
#pragma unroll 1
  while (v > 1 && count < 200) {
    v = v % 2 == 0 ? v / 2 : 3 * v + 1;
    count++;
  }
  steps[i] = count;
}

extern "C" __global__ void switch_of_ten(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i], r;
  switch (v % 10) {
    case 0: r = v + 1; break;
    case 1: r = v * 3; out[i] = -1; break;
    case 2: r = v ^ 0x55; break;
    case 3: r = v / 7; break;
    case 4: r = v << 3; break;
    case 5: r = __popc(v); break;
    case 6: r = -v; out[i] = -2; break;
    case 7: r = v & 0xff; break;
    case 8: r = v >> 1; break;
    default: return;
  }
  out[i] = r;
}

extern "C" __global__ void nested_loops(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
#pragma unroll 1
  for (int a = 0; a < in[i] % 5; a++) {
#pragma unroll 1
    for (int b = a; b < 8; b++) {
      if ((a + b + i) % 7 == 3) continue;
      if (b * a > n) break;
      sum += a * b + 1;
    }
    if (sum > 60) break;
  }
  out[i] = sum;
}

extern "C" __global__ void barrier_in_uniform_branch(int rounds, const int *in, int *out) {
  __shared__ int line[96];
  int t = threadIdx.x, v = in[blockIdx.x * 96 + t];
#pragma unroll 1
  for (int r = 0; r < rounds + (int)blockIdx.x % 3; r++) {
    if (r % 2 == 0) {
      line[t] = v;
      __syncthreads();
      v += line[(t + 33) % 96];
    } else {
      line[95 - t] = v;
      __syncthreads();
      v ^= line[t];
    }
    __syncthreads();
  }
  out[blockIdx.x * 96 + t] = v;
}

// Lanes that left are still named in the mask: fine where they have exited, a hang where they are only parked.
extern "C" __global__ void exit_then_shuffle(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = in[i];
  v += __shfl_down_sync(~0u, v, 1);
  out[i] = v;
}

// The same with an exit that all lanes of a warp take together.
extern "C" __global__ void exit_uniform_then_shuffle(int warps, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x * (blockDim.x / 32) >= warps) return;
  int v = in[i];
  v += __shfl_xor_sync(~0u, v, 3);
  out[i] = v;
}
