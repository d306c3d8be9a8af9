// Device functions that stay functions, their parameters and their stack.

struct Pair {
  float low, high;
  int count;
};

__device__ __noinline__ float polynomial(float x, int degree) {
  float v = 0;
#pragma unroll 1
  for (int i = degree; i >= 0; i--) v = v * x + (float)(i + 1);
  return v;
}

__device__ __noinline__ Pair widen(Pair p, float v) {
  p.low = fminf(p.low, v);
  p.high = fmaxf(p.high, v);
  p.count++;
  return p;
}

extern "C" __global__ void call_polynomial(int n, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i % 3 == 0 ? polynomial(in[i], 3) : polynomial(in[i], i % 5) + 1.0f;
}

extern "C" __global__ void call_struct(int n, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Pair p = {1e30f, -1e30f, 0};
#pragma unroll 1
  for (int k = 0; k < 4; k++) p = widen(p, in[(i + k * 7) % n]);
  out[i * 3] = p.low;
  out[i * 3 + 1] = p.high;
  out[i * 3 + 2] = (float)p.count;
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void call_recursive(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = fibonacci(in[i] % 7);
}

__device__ __noinline__ float twice(float x) { return x * 2.0f; }
__device__ __noinline__ float square(float x) { return x * x; }
__device__ __noinline__ float negate(float x) { return -x; }
typedef float (*Function)(float);
__device__ Function table[3] = {twice, square, negate};

// To be refused: nobody sees which function is called.
extern "C" __global__ void call_pointer(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = table[i % 3](in[i]);
}

__shared__ int stage[64];
__device__ __noinline__ int exchange(int v, int other) {
  stage[threadIdx.x] = v;
  __syncthreads();
  int got = stage[other];
  __syncthreads();
  return got;
}

// To be refused: a barrier inside a callee.
extern "C" __global__ void call_with_barrier(const int *in, int *out) {
  int i = blockIdx.x * 64 + threadIdx.x;
  out[i] = exchange(in[i], 63 - threadIdx.x) + exchange(i, threadIdx.x ^ 1);
}

__device__ __noinline__ int leave_if_negative(int v) {
  if (v < 0) asm volatile("exit;");
  return v + 1;
}

// To be refused: an exit inside a callee.
extern "C" __global__ void call_with_exit(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = leave_if_negative(in[i]);
}

struct Settings {
  float scale;
  int shift;
  short small[4];
  double offset;
  const float *source;
};

extern "C" __global__ void struct_parameter(Settings s, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = s.source[i] * s.scale + (float)(s.small[i % 4] << s.shift) + (float)s.offset;
}

extern "C" __global__ void local_array(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int line[16];
#pragma unroll 1
  for (int k = 0; k < 16; k++) line[k] = in[(i + k) % n];
#pragma unroll 1
  for (int k = 1; k < 16; k++) {
    int v = line[k], at = k;
    for (; at > 0 && line[at - 1] > v; at--) line[at] = line[at - 1];
    line[at] = v;
  }
  out[i] = line[in[i] & 15];
}
