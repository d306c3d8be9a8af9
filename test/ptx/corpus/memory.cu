// State spaces: constants, module variables, textures, generic pointers, the stack, printed text, a trap.
#include <cstdio>

__constant__ float weights[8] = {0.5f, 1.5f, -2.0f, 3.25f, 0.125f, -1.0f, 7.0f, 0.75f};
__device__ int counter = 3;
__device__ float scratch[256];

extern "C" __global__ void constant_table(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = in[i];
#pragma unroll 1
  for (int k = 0; k < 8; k++) v = v * 0.5f + weights[(i + k) % 8];
  out[i] = v;
}

extern "C" __global__ void module_variables(const float *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  scratch[i] = in[i] * 2;
  if (threadIdx.x == 0) atomicAdd(&counter, 5);
  out[i] = (int)scratch[i];
}

extern "C" __global__ void texture_linear(cudaTextureObject_t t, int n, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<float>(t, i) + tex1Dfetch<float>(t, n - 1 - i);
}

extern "C" __global__ void texture_plane(cudaTextureObject_t t, int w, int h, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) out[y * w + x] = tex2D<float>(t, x + 0.5f, y + 1.5f) * 2;
}

// One pointer, three spaces.
extern "C" __global__ void generic_pointers(const int *in, int *out) {
  __shared__ int line[32];
  int t = threadIdx.x, mine[4] = {t, t + 1, t + 2, t * t};
  line[t] = in[blockIdx.x * 32 + t] * 3;
  __syncthreads();
  const int *from = t % 3 == 0 ? &line[31 - t] : t % 3 == 1 ? &in[t] : &mine[in[t] & 3];
  out[blockIdx.x * 32 + t] = *from;
}

extern "C" __global__ void dynamic_shared(int n, const int *in, int *out) {
  extern __shared__ char raw[];
  int *whole = (int *)raw;
  short *half = (short *)(raw + n * 4);
  __shared__ int fixed[32];
  int t = threadIdx.x;
  whole[t] = in[blockIdx.x * n + t];
  half[t] = (short)(in[blockIdx.x * n + t] * 3);
  if (t < 32) fixed[t] = t;
  __syncthreads();
  out[blockIdx.x * n + t] = whole[n - 1 - t] + half[t ^ 1] + fixed[t % 32];
}

extern "C" __global__ void print_values(const int *in) {
  if (threadIdx.x % 16 == 0)
    printf("block %d thread %d: %d %5.2f %s\n", blockIdx.x, threadIdx.x, in[threadIdx.x],
           in[threadIdx.x] * 0.5, "done");
}

extern "C" __global__ void trap_on_negative(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (in[i] < 0) __trap();
  out[i] = in[i];
}

extern "C" __global__ void vector_widths(const uchar4 *bytes, const short2 *halves, const double2 *wide,
                                         longlong2 *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  uchar4 b = bytes[i];
  short2 h = halves[i];
  double2 d = wide[i];
  out[i] = make_longlong2((long long)(d.x * 8) + b.x + b.y * 2, (long long)d.y - h.x * h.y + b.z - b.w);
}

// Slots that never start clean: a block must not see what another left in shared memory, so each writes first.
extern "C" __global__ void shared_static_2d(const int *in, int *out) {
  __shared__ int a[4][33];
  __shared__ volatile int b[4];
  int x = threadIdx.x, y = threadIdx.y, i = (blockIdx.x * 4 + y) * 32 + x;
  a[y][x] = in[i];
  if (x == 0) b[y] = y;
  __syncthreads();
  int v = a[(y + 1) % 4][31 - x] + b[3 - y];
  __syncthreads();
  if (x == 0) b[y] = v;
  __syncthreads();
  out[i] = v + b[y ^ 1];
}
