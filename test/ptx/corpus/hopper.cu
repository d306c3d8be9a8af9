// arch: 90a
// Hopper's own: products by warp groups from descriptors made by hand, and boxes of tensors. Inputs are small whole
// numbers, so that sums are exact.
#include <stdint.h>

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// A matrix in shared memory for wgmma; swizzle 0: none, 1: 128, 2: 64, 3: 32 bytes.
__device__ uint64_t matrix(unsigned start, unsigned leading, unsigned stride, uint64_t swizzle) {
  return (start & 0x3ffff) >> 4 | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 | swizzle << 62;
}

// Stored values are there for products and the copy engine.
__device__ void stored() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

__device__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// c = a b^T in tiles of 64 x 16: a in rows of 128 swizzled bytes, b in pieces of 8 x 16 bytes.
extern "C" __global__ void wgmma_stored(int n, int k, const uint16_t *a, const uint16_t *b, float *c) {
  __shared__ __align__(1024) unsigned char ta[64 * 128];
  __shared__ __align__(128) unsigned char tb[16 * 128];
  int t = threadIdx.x, row = blockIdx.y * 64, column = blockIdx.x * 16;
  float d[8] = {};
#pragma unroll 1
  for (int step = 0; step < k; step += 64) {
#pragma unroll 1
    for (int i = t; i < 64 * 8; i += 128)
      *(uint4 *)(ta + i / 8 * 128 + (i % 8 ^ i / 8 % 8) * 16) = *(const uint4 *)(a + (row + i / 8) * k + step + i % 8 * 8);
    *(uint4 *)(tb + t / 64 * 1024 + t % 8 * 128 + t / 8 % 8 * 16) =
        *(const uint4 *)(b + (column + t / 8) * k + step + t % 8 * 8);
    stored();
    begin_products();
#pragma unroll
    for (int i = 0; i < 4; i++)
      asm volatile(
          "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1, 0, 0;"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
          : "l"(matrix(shared_address(ta) + i * 32, 0, 1024, 1)), "l"(matrix(shared_address(tb) + i * 256, 128, 1024, 0))
          : "memory");
    end_products();
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; i++)
    c[(row + t / 32 * 16 + i / 2 % 2 * 8 + t % 32 / 4) * n + column + i / 4 * 8 + t % 4 * 2 + i % 2] = d[i];
}

// c = c - a b in halves, tiles of 64 x 32: a in registers, b by its rows, of 64 swizzled bytes.
extern "C" __global__ void wgmma_registers(int n, int k, const uint16_t *a, const uint16_t *b, uint32_t *c) {
  __shared__ __align__(512) unsigned char tb[16 * 64];
  int t = threadIdx.x, column = blockIdx.x * 32;
  int row = blockIdx.y * 64 + t / 32 * 16 + t % 32 / 4;
  uint32_t d[8];
#pragma unroll
  for (int i = 0; i < 8; i++) d[i] = c[((row + i % 2 * 8) * n + column + i / 2 * 8 + t % 4 * 2) / 2];
#pragma unroll 1
  for (int step = 0; step < k; step += 16) {
    if (t < 64)
      *(uint4 *)(tb + t / 4 * 64 + (t % 4 ^ t / 8 % 4) * 16) = *(const uint4 *)(b + (step + t / 4) * n + column + t % 4 * 8);
    uint32_t r[4];
#pragma unroll
    for (int i = 0; i < 4; i++) r[i] = *(const uint32_t *)(a + (row + i % 2 * 8) * k + step + i / 2 * 8 + t % 4 * 2);
    stored();
    begin_products();
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n32k16.f16.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, "
        "1, -1, 1, 1;"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7])
        : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(matrix(shared_address(tb), 0, 512, 2))
        : "memory");
    end_products();
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; i++) c[((row + i % 2 * 8) * n + column + i / 2 * 8 + t % 4 * 2) / 2] = d[i];
}

// c = a b^T of bytes, k = 32, tiles of 64 x 8: rows of 32 swizzled bytes.
extern "C" __global__ void wgmma_bytes(int n, const uint4 *a, const uint4 *b, int *c) {
  __shared__ __align__(256) unsigned char ta[64 * 32], tb[8 * 32];
  int t = threadIdx.x, row = blockIdx.y * 64, column = blockIdx.x * 8;
  *(uint4 *)(ta + t / 2 * 32 + (t % 2 ^ t / 8 % 2) * 16) = a[row * 2 + t];
  if (t < 16) *(uint4 *)(tb + t / 2 * 32 + (t % 2 ^ t / 8 % 2) * 16) = b[column * 2 + t];
  stored();
  int d[4];
  begin_products();
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0, %1, %2, %3}, %4, %5, 0;"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "l"(matrix(shared_address(ta), 0, 256, 3)), "l"(matrix(shared_address(tb), 0, 256, 3))
               : "memory");
  end_products();
#pragma unroll
  for (int i = 0; i < 4; i++) c[(row + t / 32 * 16 + i / 2 * 8 + t % 32 / 4) * n + column + t % 4 * 2 + i % 2] = d[i];
}

// Thread 0 of a warp that is whole makes a map of a tensor of 32-bit numbers, boxes of 16 x 8, 64 swizzled bytes.
__device__ void make_map(unsigned at, unsigned char *map, const void *tensor, int width, int height) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(at + threadIdx.x * 4), "r"(0) : "memory");
  __syncwarp();
  if (threadIdx.x == 0) {
#define REPLACE(FIELD, BITS, CLASS, WHERE, VALUE) \
  asm volatile("tensormap.replace.tile." FIELD ".shared::cta.b1024." BITS " [%0], " WHERE "%1;" ::"l"(space), CLASS(VALUE) \
               : "memory")
    uint64_t space = at;
    REPLACE("global_address", "b64", "l", "", tensor);
    REPLACE("rank", "b32", "n", "", 1);
    REPLACE("box_dim", "b32", "r", "0, ", 16);
    REPLACE("box_dim", "b32", "r", "1, ", 8);
    REPLACE("global_dim", "b32", "r", "0, ", width);
    REPLACE("global_dim", "b32", "r", "1, ", height);
    REPLACE("global_stride", "b64", "l", "0, ", (uint64_t)width * 4);
    REPLACE("element_stride", "b32", "r", "0, ", 1);
    REPLACE("element_stride", "b32", "r", "1, ", 1);
    REPLACE("elemtype", "b32", "n", "", 3);
    REPLACE("interleave_layout", "b32", "n", "", 0);
    REPLACE("swizzle_mode", "b32", "n", "", 2);
    REPLACE("fill_mode", "b32", "n", "", 0);
  }
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(map),
      "l"((uint64_t)at)
      : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

// Each block takes a box that may begin before the tensor and end behind it, turns it upside down, adds one and stores it
// 4 further right and 2 further down. `maps` has room for two maps a block.
extern "C" __global__ void tensor_boxes(int width, int height, const int *in, int *out, unsigned char *maps) {
  __shared__ __align__(1024) int box[128], turned[128];
  __shared__ __align__(128) unsigned char map[128];
  __shared__ __align__(8) unsigned long long bar;
  int t = threadIdx.x, x = blockIdx.x * 16, y = blockIdx.y * 8;
  unsigned b = shared_address(&bar);
  unsigned char *own = maps + (blockIdx.y * gridDim.x + blockIdx.x) * 256;
  if (t < 32) {
    make_map(shared_address(map), own, in, width, height);
    make_map(shared_address(map), own + 128, out, width, height);
  }
  if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b) : "memory");
  stored();
  if (t == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(b) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            shared_address(box)),
        "l"(own), "r"(x - 4), "r"(y - 2), "r"(b)
        : "memory");
  }
  unsigned done = 0;
  while (!done)
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(b)
        : "memory");
  int row = t / 16, other = 7 - row;
  turned[other * 16 + (t / 4 % 4 ^ other / 2) * 4 + t % 4] = box[row * 16 + (t / 4 % 4 ^ row / 2) * 4 + t % 4] + 1;
  stored();
  if (t == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(own + 128), "r"(x),
                 "r"(y), "r"(shared_address(turned))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(b) : "memory");
  }
}

// The copy engine adds up: each block adds its line to the same 64 numbers.
extern "C" __global__ void bulk_sum(const int *in, int *out) {
  __shared__ __align__(16) int line[64];
  line[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  stored();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 256;" ::"l"(out),
                 "r"(shared_address(line))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}
