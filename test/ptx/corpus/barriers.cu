// Barriers with numbers and counts, mbarrier, asynchronous copies.
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline.h>

// Producer and consumer warps; two named barriers of 64 threads, two others of the consumers alone.
extern "C" __global__ void named_barriers(int rounds, const int *in, int *out) {
  __shared__ int box[32];
  int t = threadIdx.x, lane = t % 32, sum = 0;
  if (t < 32) {
#pragma unroll 1
    for (int r = 0; r < rounds; r++) {
      if (r > 0) asm volatile("bar.sync 2, 64;" ::: "memory");
      box[lane] = in[(blockIdx.x * rounds + r) * 32 + lane];
      asm volatile("bar.arrive 1, 64;" ::: "memory");
    }
  } else {
#pragma unroll 1
    for (int r = 0; r < rounds; r++) {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      sum += box[31 - lane];
      if (r + 1 < rounds) asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
    out[blockIdx.x * 32 + lane] = sum;
  }
}

extern "C" __global__ void barrier_reductions(const int *in, int *out) {
  int t = threadIdx.x, v = in[blockIdx.x * 96 + t], count, all, any;
  asm volatile(
      "{ .reg .pred p, q, r; setp.gt.s32 p, %3, 3; bar.red.popc.u32 %0, 3, p;\n"
      "  bar.red.and.pred q, 4, p; bar.red.or.pred r, 5, !p;\n"
      "  selp.s32 %1, 1, 0, q; selp.s32 %2, 1, 0, r; }"
      : "=r"(count), "=r"(all), "=r"(any)
      : "r"(v));
  out[blockIdx.x * 96 + t] = count * 4 + all * 2 + any;
}

// The block's barrier object is made anew by every block and made invalid at its end.
extern "C" __global__ void mbarrier_rounds(int rounds, const int *in, int *out) {
  __shared__ __mbarrier_t bar;
  __shared__ int line[64];
  int t = threadIdx.x, v = in[blockIdx.x * 64 + t];
  if (t == 0) __mbarrier_init(&bar, 64);
  __syncthreads();
#pragma unroll 1
  for (int r = 0; r < rounds; r++) {
    line[t] = v;
    __mbarrier_token_t token = __mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait(&bar, token)) {
    }
    v += line[(t + 5) % 64];
    token = __mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait(&bar, token)) {
    }
  }
  out[blockIdx.x * 64 + t] = v;
  __syncthreads();
  if (t == 0) __mbarrier_inval(&bar);
}

// Live at the block's end: before the next block makes it anew, a variant has to make it invalid.
extern "C" __global__ void mbarrier_left_live(const int *in, int *out) {
  __shared__ __mbarrier_t bar;
  __shared__ int line[64];
  int t = threadIdx.x;
  if (t == 0) __mbarrier_init(&bar, 64);
  __syncthreads();
  line[t] = in[blockIdx.x * 64 + t];
  __mbarrier_token_t token = __mbarrier_arrive(&bar);
  while (!__mbarrier_test_wait(&bar, token)) {
  }
  out[blockIdx.x * 64 + t] = line[63 - t];
}

extern "C" __global__ void copy_pipeline(int tiles, const float4 *in, float4 *out) {
  __shared__ float4 stage[3][32];
  int t = threadIdx.x;
  in += (size_t)blockIdx.x * tiles * 32;
  out += (size_t)blockIdx.x * tiles * 32;
#pragma unroll 1
  for (int i = 0; i < 2; i++) {
    if (i < tiles) __pipeline_memcpy_async(&stage[i][t], &in[i * 32 + t], 16);
    __pipeline_commit();
  }
#pragma unroll 1
  for (int i = 0; i < tiles; i++) {
    if (i + 2 < tiles) __pipeline_memcpy_async(&stage[(i + 2) % 3][t], &in[(i + 2) * 32 + t], 16);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    float4 v = stage[i % 3][t ^ 1];
    out[i * 32 + t] = make_float4(v.w, v.z, v.y, v.x);
    __syncthreads();
  }
}

// A short source: the rest of the destination is filled with zeros.
extern "C" __global__ void copy_zero_fill(int n, const int *in, int *out) {
  __shared__ int line[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  __pipeline_memcpy_async(&line[t], &in[i < n ? i : 0], 4, i < n ? 0 : 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[i] = line[63 - t];
}
