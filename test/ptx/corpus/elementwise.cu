// One value in, one value out: every type and vector width a framework's pointwise kernels use.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void relu_vec4(int n4, const float4 *in, float4 *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n4) return;
  float4 v = in[i];
  out[i] = make_float4(fmaxf(v.x, 0), fmaxf(v.y, 0), fmaxf(v.z, 0), fmaxf(v.w, 0));
}

// A fixed number of blocks walks over any length: what is left of the grid size shows in the result's order only.
extern "C" __global__ void exp_grid_stride(int n, const float *in, float *out) {
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = __expf(in[i]) + (float)gridDim.x;
}

extern "C" __global__ void gelu_bf16(int n, const __nv_bfloat16 *in, __nv_bfloat16 *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float x = __bfloat162float(in[i]);
    float t = 0.79788456f * (x + 0.044715f * x * x * x);
    out[i] = __float2bfloat16(0.5f * x * (1.0f + (1.0f - 2.0f / (__expf(2.0f * t) + 1.0f))));
  }
}

extern "C" __global__ void fma_half2(int n, const __half2 *a, const __half2 *b, __half2 *c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = __hmax2(__hfma2(a[i], b[i], c[i]), __hsub2(a[i], b[i]));
}

extern "C" __global__ void mul_bf162(int n, const __nv_bfloat162 *a, const __nv_bfloat162 *b,
                                     __nv_bfloat162 *c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = __hfma2(a[i], b[i], __hadd2(a[i], c[i]));
}

__device__ __forceinline__ unsigned mix(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ (x >> 16);
}

extern "C" __global__ void dropout(int n, unsigned seed, float keep, const float *in, float *out,
                                   unsigned char *mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    bool kept = mix(i ^ seed) * 2.3283064e-10f < keep;
    mask[i] = kept;
    out[i] = kept ? in[i] / keep : 0.0f;
  }
}

extern "C" __global__ void quantize_int8(int n, float scale, const float *in, signed char *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int q = __float2int_rn(in[i] * scale);
    out[i] = (signed char)max(-128, min(127, q));
  }
}

extern "C" __global__ void clamp_f64(int n, double lo, double hi, const double *in, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fmin(hi, fmax(lo, in[i] * in[i] - 0.5));
}

extern "C" __global__ void complex_mul(int n, const float2 *a, const float2 *b, float2 *c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float2 u = a[i], v = b[i];
    c[i] = make_float2(u.x * v.x - u.y * v.y, u.x * v.y + u.y * v.x);
  }
}

extern "C" __global__ void transpose_tiled(int rows, int cols, const float *in, float *out) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < cols && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
  if (x < rows && y < cols) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}
