// Tiled products: in shared memory, in registers, double-buffered, batched, on tensor cores.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

extern "C" __global__ void matmul_tiled(int m, int n, int k, const float *a, const float *b, float *c) {
  __shared__ float ta[8][8], tb[8][8];
  int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 8 + x, row = blockIdx.y * 8 + y;
  float sum = 0;
#pragma unroll 1
  for (int step = 0; step < k; step += 8) {
    ta[y][x] = row < m && step + x < k ? a[row * k + step + x] : 0;
    tb[y][x] = col < n && step + y < k ? b[(step + y) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < 8; i++) sum += ta[y][i] * tb[i][x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

extern "C" __global__ void matmul_registers(int n, int k, const float *a, const float *b, float *c) {
  __shared__ float ta[16][9], tb[8][16];
  int x = threadIdx.x, y = threadIdx.y, t = y * 8 + x;
  float sum[2][2] = {};
#pragma unroll 1
  for (int step = 0; step < k; step += 8) {
#pragma unroll 1
    for (int i = t; i < 128; i += 64) {
      ta[i / 8][i % 8] = a[(blockIdx.y * 16 + i / 8) * k + step + i % 8];
      tb[i / 16][i % 16] = b[(step + i / 16) * n + blockIdx.x * 16 + i % 16];
    }
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < 8; i++)
      for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++) sum[r][s] += ta[y * 2 + r][i] * tb[i][x * 2 + s];
    __syncthreads();
  }
  for (int r = 0; r < 2; r++)
    for (int s = 0; s < 2; s++)
      c[(blockIdx.y * 16 + y * 2 + r) * n + blockIdx.x * 16 + x * 2 + s] = sum[r][s];
}

extern "C" __global__ void matmul_async(int n, int k, const float *a, const float *b, float *c) {
  __shared__ __align__(16) float ta[2][16][16], tb[2][16][16];
  int x = threadIdx.x, y = threadIdx.y;
  const float *pa = a + (blockIdx.y * 16 + y) * k + x * 4, *pb = b + y * n + blockIdx.x * 16 + x * 4;
  float sum[4] = {};
  __pipeline_memcpy_async(&ta[0][y][x * 4], pa, 16);
  __pipeline_memcpy_async(&tb[0][y][x * 4], pb, 16);
  __pipeline_commit();
#pragma unroll 1
  for (int step = 0, now = 0; step < k; step += 16, now ^= 1) {
    if (step + 16 < k) {
      __pipeline_memcpy_async(&ta[now ^ 1][y][x * 4], pa + step + 16, 16);
      __pipeline_memcpy_async(&tb[now ^ 1][y][x * 4], pb + (step + 16) * n, 16);
      __pipeline_commit();
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < 16; i++)
      for (int s = 0; s < 4; s++) sum[s] += ta[now][y][i] * tb[now][i][x * 4 + s];
    __syncthreads();
  }
  for (int s = 0; s < 4; s++) c[(blockIdx.y * 16 + y) * n + blockIdx.x * 16 + x * 4 + s] = sum[s];
}

extern "C" __global__ void matmul_batched_f64(int n, const double *a, const double *b, double *c) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  size_t base = (size_t)blockIdx.z * n * n;
  if (col >= n || row >= n) return;
  double sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; i++) sum += a[base + row * n + i] * b[base + i * n + col];
  c[base + row * n + col] = sum;
}

// One warp, one 16 x 8 tile of c (row-major), a 16 x k row-major, b k x 8 column-major: m16n8k16 products.
extern "C" __global__ void matmul_mma(int k, const __half *a, const __half *b, float *c) {
  int lane = threadIdx.x, group = lane / 4, pair = lane % 4 * 2;
  a += (size_t)blockIdx.x * 16 * k;
  c += blockIdx.x * 128;
  float d[4] = {};
#pragma unroll 1
  for (int s = 0; s < k; s += 16) {
    unsigned fa[4], fb[2];
    fa[0] = *(const unsigned *)&a[group * k + s + pair];
    fa[1] = *(const unsigned *)&a[(group + 8) * k + s + pair];
    fa[2] = *(const unsigned *)&a[group * k + s + pair + 8];
    fa[3] = *(const unsigned *)&a[(group + 8) * k + s + pair + 8];
    fb[0] = *(const unsigned *)&b[group * k + s + pair];
    fb[1] = *(const unsigned *)&b[group * k + s + pair + 8];
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  }
  c[group * 8 + pair] = d[0];
  c[group * 8 + pair + 1] = d[1];
  c[(group + 8) * 8 + pair] = d[2];
  c[(group + 8) * 8 + pair + 1] = d[3];
}

// The same with its operands brought from shared memory by ldmatrix.
extern "C" __global__ void matmul_ldmatrix(const __half *a, const __half *b, float *c) {
  __shared__ __align__(16) __half ta[16 * 16], tb[8 * 16];
  int lane = threadIdx.x, group = lane / 4, pair = lane % 4 * 2;
  for (int i = lane; i < 256; i += 32) ta[i] = a[blockIdx.x * 256 + i];
  for (int i = lane; i < 128; i += 32) tb[i] = b[i];
  __syncwarp();
  unsigned fa[4], fb[2];
  float d[4] = {};
  unsigned pa = (unsigned)__cvta_generic_to_shared(&ta[lane % 16 * 16 + lane / 16 * 8]);
  unsigned pb = (unsigned)__cvta_generic_to_shared(&tb[lane % 8 * 16 + lane / 8 % 2 * 8]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
               : "r"(pa)
               : "memory");
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(fb[0]), "=r"(fb[1])
               : "r"(pb)
               : "memory");
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  c += blockIdx.x * 128;
  c[group * 8 + pair] = d[0];
  c[group * 8 + pair + 1] = d[1];
  c[(group + 8) * 8 + pair] = d[2];
  c[(group + 8) * 8 + pair + 1] = d[3];
}
