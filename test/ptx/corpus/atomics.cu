// Every atomic there is. Where the order of updates is open, values are such that the result is not.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void atomic_integers(const int *in, int *cells, unsigned *ucells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i], c = i % 8;
  atomicAdd(&cells[c], v);
  atomicSub(&cells[8 + c], v);
  atomicMin(&cells[16 + c], v);
  atomicMax(&cells[24 + c], v);
  atomicAnd(&cells[32 + c], v | 0x0f0f);
  atomicOr(&cells[40 + c], v & 0xff);
  atomicXor(&cells[48 + c], v);
  atomicMin(&ucells[c], (unsigned)v);
  atomicMax(&ucells[8 + c], (unsigned)v);
  atomicInc(&ucells[16 + c], 5);
  atomicDec(&ucells[24 + c], 9);
}

extern "C" __global__ void atomic_wide(const long long *in, long long *cells, unsigned long long *ucells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, c = i % 4;
  atomicMin(&cells[c], in[i]);
  atomicMax(&cells[4 + c], in[i]);
  atomicAdd(&ucells[c], (unsigned long long)in[i]);
  atomicAnd(&ucells[4 + c], (unsigned long long)in[i] | 0xff00ff00ff00ULL);
  atomicOr(&ucells[8 + c], (unsigned long long)in[i] & 0xf0f0f0f0f0ULL);
  atomicXor(&ucells[12 + c], (unsigned long long)in[i]);
}

extern "C" __global__ void atomic_floats(const float *in, float *f, double *d, __half2 *h,
                                         __nv_bfloat162 *b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&f[i % 4], in[i]);
  atomicAdd(&d[i % 4], (double)in[i]);
  atomicAdd(&h[i % 16], __floats2half2_rn(in[i], 1.0f));
  atomicAdd(&b[i % 32], __floats2bfloat162_rn(1.0f, in[i]));
}

extern "C" __global__ void atomic_cas_max(const float *in, float *top) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = in[i];
  int *cell = (int *)&top[i % 3], old = *cell, seen;
#pragma unroll 1
  do {
    seen = old;
    if (__int_as_float(seen) >= v) break;
    old = atomicCAS(cell, seen, __float_as_int(v));
  } while (old != seen);
}

extern "C" __global__ void atomic_shared(const int *in, int *out) {
  __shared__ int cell[4];
  __shared__ unsigned long long wide;
  int t = threadIdx.x, v = in[blockIdx.x * blockDim.x + t];
  if (t < 4) cell[t] = 0;
  if (t == 0) wide = 0;
  __syncthreads();
  atomicAdd(&cell[v & 1], v);
  atomicMax(&cell[2], v);
  atomicOr(&cell[3], 1 << (v & 31));
  atomicAdd_block(&wide, (unsigned long long)v << 20);
  __syncthreads();
  if (t < 4) out[blockIdx.x * 8 + t] = cell[t];
  if (t == 4) *(unsigned long long *)&out[blockIdx.x * 8 + 4] = wide;
}

extern "C" __global__ void atomic_scopes(const int *in, int *cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd_system(&cells[0], in[i]);
  int got;
  asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], %2;" : "=r"(got) : "l"(&cells[1]), "r"(1));
  asm volatile("red.relaxed.gpu.global.max.s32 [%0], %1;" ::"l"(&cells[2]), "r"(in[i]));
  asm volatile("red.release.sys.global.add.u32 [%0], %1;" ::"l"(&cells[3]), "r"(got >= 0 ? 2 : 100));
}

// A lock between blocks: who waits, waits for a block that runs, so variants are right.
extern "C" __global__ void lock_between_blocks(int *lock, volatile int *total, const int *in) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *total += in[blockIdx.x];
    __threadfence();
    atomicExch(lock, 0);
  }
}
