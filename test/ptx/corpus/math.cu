// Arithmetic by the instruction: roundings, conversions, bit fields, wide integers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void roundings_f32(int n, const float *a, const float *b, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i], y = b[i];
  float *o = out + i * 12;
  o[0] = __fadd_rz(x, y);
  o[1] = __fadd_ru(x, y);
  o[2] = __fadd_rd(x, y);
  o[3] = __fmul_rz(x, y);
  o[4] = __fmul_ru(x, y);
  o[5] = __fmaf_rd(x, y, x);
  o[6] = __fmaf_rz(x, y, y);
  o[7] = __fdiv_rn(x, y);
  o[8] = __fdiv_rd(x, y);
  o[9] = __fsqrt_ru(fabsf(x));
  o[10] = __frcp_rn(y);
  o[11] = __fmaf_rn(x, y, -x);
}

extern "C" __global__ void roundings_f64(int n, const double *a, const double *b, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = a[i], y = b[i];
  double *o = out + i * 8;
  o[0] = __dadd_rz(x, y);
  o[1] = __dmul_ru(x, y);
  o[2] = __fma_rn(x, y, -x);
  o[3] = __fma_rd(x, y, y);
  o[4] = x / y;
  o[5] = sqrt(fabs(x));
  o[6] = floor(x) + ceil(y) + trunc(x * 3.0) + rint(y * 5.0);
  o[7] = __ddiv_rz(x, y);
}

extern "C" __global__ void conversions(int n, const float *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = in[i];
  int *o = out + i * 14;
  o[0] = __float2int_rn(v);
  o[1] = __float2int_rz(v);
  o[2] = __float2int_ru(v);
  o[3] = __float2int_rd(v);
  o[4] = (int)__float2uint_rn(v);
  *(long long *)&o[6] = __float2ll_rn(v * 1e6f);
  o[5] = __half_as_ushort(__float2half_rz(v)) | __half_as_ushort(__float2half_rn(v)) << 16;
  o[8] = __bfloat16_as_ushort(__float2bfloat16_rn(v)) | __bfloat16_as_ushort(__float2bfloat16_rz(v)) << 16;
  o[9] = __float_as_int((float)(long long)(v * 1e12f));
  o[10] = __float_as_int(__uint2float_rz((unsigned)o[0] * 2654435761u));
  o[11] = __float_as_int((float)((double)v * 1.0000000001));
  o[12] = __half2int_rn(__float2half(v));
  o[13] = (unsigned char)o[1] | (signed char)o[0] << 8;
}

extern "C" __global__ void bit_fields(int n, const unsigned *a, const unsigned *b, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = a[i], y = b[i], *o = out + i * 12;
  o[0] = __clz(x) | __ffs(y) << 8 | __popc(x) << 16;
  o[1] = __brev(x);
  o[2] = __byte_perm(x, y, 0x5140);
  o[3] = __funnelshift_l(x, y, y & 63);
  o[4] = __funnelshift_rc(x, y, y & 63);
  o[5] = __umulhi(x, y) ^ (unsigned)__mulhi((int)x, (int)y);
  o[6] = __mul24((int)x, (int)y) + __umul24(x, y);
  o[7] = __sad((int)x, (int)y, 7);
  o[8] = __dp4a((int)x, (int)y, (int)(x ^ y));
  o[9] = (x & y) | (~x & 0x12345678u) ^ y;
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(o[10]) : "r"(x), "r"(y & 31), "r"(y >> 8 & 31));
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(o[11]) : "r"(x), "r"(y), "r"(x & 31), "r"(y & 31));
}

extern "C" __global__ void wide_integers(int n, const long long *a, const long long *b, long long *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long x = a[i], y = b[i] | 1, *o = out + i * 8;
  o[0] = x / y;
  o[1] = x % y;
  o[2] = (long long)((unsigned long long)x / (unsigned long long)y);
  o[3] = __mul64hi(x, y);
  o[4] = (long long)__umul64hi((unsigned long long)x, (unsigned long long)y);
  o[5] = x * y + (x << (y & 63)) - (x >> (y & 31));
  o[6] = min(x, y) ^ __popcll(x) ^ __clzll(y);
  unsigned __int128 p = (unsigned __int128)(unsigned long long)x * (unsigned long long)y;
  p += (unsigned __int128)(unsigned long long)y << 64;
  o[7] = (long long)(p >> 32);
}

extern "C" __global__ void special_functions(int n, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = in[i], *o = out + i * 8;
  o[0] = __sinf(v) + __cosf(v);
  o[1] = __expf(v);
  o[2] = __logf(fabsf(v));
  o[3] = rsqrtf(fabsf(v));
  o[4] = __fdividef(v, 3.0f);
  o[5] = tanhf(v);
  o[6] = expf(v) + log1pf(fabsf(v)) + erff(v);
  o[7] = sinf(v) + powf(fabsf(v), 0.3f);
}

extern "C" __global__ void half_arithmetic(int n, const __half *a, const __half *b, __half *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half x = a[i], y = b[i], *o = out + i * 8;
  o[0] = __hadd(x, y);
  o[1] = __hmul(x, y);
  o[2] = __hfma(x, y, x);
  o[3] = __hdiv(x, y);
  o[4] = __hmin(x, y);
  o[5] = __hmax_nan(x, y);
  o[6] = __hadd_sat(x, y);
  o[7] = __hlt(x, y) ? hrcp(x) : hsqrt(__habs(y));
}
