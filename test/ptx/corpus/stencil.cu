// Grids of two and three dimensions.

extern "C" __global__ void stencil_3d(int nx, int ny, int nz, const float *in, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
      z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  int i = (z * ny + y) * nx + x;
  if (x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1)
    out[i] = in[i];
  else
    out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] +
                                    in[i - nx * ny] + in[i + nx * ny]);
}

// A plane in shared memory marches through z.
extern "C" __global__ void stencil_3d_shared(int nx, int ny, int nz, const float *in, float *out) {
  __shared__ float plane[6][10];
  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  int px = threadIdx.x + 1, py = threadIdx.y + 1;
  bool inside = x < nx && y < ny;
#pragma unroll 1
  for (int z = 0; z < nz; z++) {
    int i = (z * ny + y) * nx + x;
    plane[py][px] = inside ? in[i] : 0;
    if (threadIdx.x == 0) plane[py][0] = inside && x > 0 ? in[i - 1] : 0;
    if (threadIdx.x == 7) plane[py][9] = inside && x + 1 < nx ? in[i + 1] : 0;
    if (threadIdx.y == 0) plane[0][px] = inside && y > 0 ? in[i - nx] : 0;
    if (threadIdx.y == 3) plane[5][px] = inside && y + 1 < ny ? in[i + nx] : 0;
    __syncthreads();
    if (inside)
      out[i] = plane[py][px] * 0.5f +
               0.125f * (plane[py][px - 1] + plane[py][px + 1] + plane[py - 1][px] + plane[py + 1][px]);
    __syncthreads();
  }
}

extern "C" __global__ void conv_2d(int w, int h, const float *in, const float *kernel, float *out) {
  __shared__ float weights[9];
  int t = threadIdx.y * blockDim.x + threadIdx.x;
  if (t < 9) weights[t] = kernel[blockIdx.z * 9 + t];
  __syncthreads();
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (x + dx >= 0 && x + dx < w && y + dy >= 0 && y + dy < h)
        sum += in[(y + dy) * w + x + dx] * weights[(dy + 1) * 3 + dx + 1];
  out[(blockIdx.z * h + y) * w + x] = sum;
}

extern "C" __global__ void life(int w, int h, const unsigned char *in, unsigned char *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, n = 0;
  if (x >= w || y >= h) return;
#pragma unroll 1
  for (int k = 0; k < 9; k++)
    if (k != 4) n += in[(y + k / 3 + h - 1) % h * w + (x + k % 3 + w - 1) % w];
  out[y * w + x] = n == 3 || (n == 2 && in[y * w + x]);
}

// Each block writes down what it believes its place and the grid's size to be.
extern "C" __global__ void who_am_i(uint4 *out, unsigned *threads) {
  unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned size = blockDim.x * blockDim.y * blockDim.z;
  if (thread == 0) {
    out[block * 2] = make_uint4(blockIdx.x, blockIdx.y, blockIdx.z, block);
    out[block * 2 + 1] = make_uint4(gridDim.x, gridDim.y, gridDim.z, size);
  }
  threads[block * size + thread] = threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16 | block << 24;
}
