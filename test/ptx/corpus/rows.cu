// One block a row: softmax, norms, attention.
#include <cuda_fp16.h>

__device__ __forceinline__ float block_reduce(float v, bool max_of, float *part) {
  for (int d = 16; d > 0; d /= 2) {
    float o = __shfl_xor_sync(~0u, v, d);
    v = max_of ? fmaxf(v, o) : v + o;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  v = part[0];
#pragma unroll 1
  for (int w = 1; w < blockDim.x / 32; w++) v = max_of ? fmaxf(v, part[w]) : v + part[w];
  return v;
}

extern "C" __global__ void softmax_row(int cols, const float *in, float *out) {
  __shared__ float part[32];
  const float *row = in + blockIdx.x * cols;
  float top = -INFINITY, sum = 0;
#pragma unroll 1
  for (int c = threadIdx.x; c < cols; c += blockDim.x) top = fmaxf(top, row[c]);
  top = block_reduce(top, true, part);
#pragma unroll 1
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += __expf(row[c] - top);
  sum = block_reduce(sum, false, part);
#pragma unroll 1
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    out[blockIdx.x * cols + c] = __expf(row[c] - top) / sum;
}

// One pass: maximum and sum together, one warp a row.
extern "C" __global__ void softmax_online(int cols, const float *in, float *out) {
  const float *row = in + (blockIdx.x * blockDim.y + threadIdx.y) * cols;
  float top = -INFINITY, sum = 0;
#pragma unroll 1
  for (int c = threadIdx.x; c < cols; c += 32) {
    float v = row[c], higher = fmaxf(top, v);
    sum = sum * __expf(top - higher) + __expf(v - higher);
    top = higher;
  }
  for (int d = 16; d > 0; d /= 2) {
    float other = __shfl_xor_sync(~0u, top, d), rest = __shfl_xor_sync(~0u, sum, d);
    float higher = fmaxf(top, other);
    sum = sum * __expf(top - higher) + rest * __expf(other - higher);
    top = higher;
  }
#pragma unroll 1
  for (int c = threadIdx.x; c < cols; c += 32)
    out[(blockIdx.x * blockDim.y + threadIdx.y) * cols + c] = __expf(row[c] - top) / sum;
}

extern "C" __global__ void layer_norm(int cols, float eps, const float *in, const float *weight,
                                      const float *bias, float *out) {
  __shared__ float part[32];
  const float *row = in + blockIdx.x * cols;
  float sum = 0, square = 0;
#pragma unroll 1
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += row[c];
  float mean = block_reduce(sum, false, part) / cols;
#pragma unroll 1
  for (int c = threadIdx.x; c < cols; c += blockDim.x) square += (row[c] - mean) * (row[c] - mean);
  float scale = rsqrtf(block_reduce(square, false, part) / cols + eps);
#pragma unroll 1
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    out[blockIdx.x * cols + c] = (row[c] - mean) * scale * weight[c] + bias[c];
}

extern "C" __global__ void rms_norm_half(int cols, const __half *in, __half *out) {
  __shared__ float part[32];
  const __half *row = in + blockIdx.x * cols;
  float square = 0;
#pragma unroll 1
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    float v = __half2float(row[c]);
    square += v * v;
  }
  float scale = rsqrtf(block_reduce(square, false, part) / cols + 1e-5f);
#pragma unroll 1
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    out[blockIdx.x * cols + c] = __float2half(__half2float(row[c]) * scale);
}

// Mean and variance of a channel over the batch, by Welford's update.
extern "C" __global__ void batch_norm_stats(int batch, int channels, const float *in, float *mean,
                                            float *variance) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  float m = 0, s = 0;
#pragma unroll 1
  for (int b = 0; b < batch; b++) {
    float v = in[b * channels + c], d = v - m;
    m += d / (b + 1);
    s += d * (v - m);
  }
  mean[c] = m;
  variance[c] = s / batch;
}

// One thread a query, keys and values pass through shared memory, softmax on the way; causal.
extern "C" __global__ void attention_online(int length, const float *q, const float *k, const float *v,
                                            float *out) {
  const int D = 8, B = 32;
  __shared__ float tk[B][D], tv[B][D];
  int head = blockIdx.y, row = blockIdx.x * B + threadIdx.x;
  const float *base_k = k + head * length * D, *base_v = v + head * length * D;
  float mine[D], sum[D] = {}, top = -INFINITY, weight = 0;
  for (int d = 0; d < D; d++) mine[d] = row < length ? q[(head * length + row) * D + d] : 0;
#pragma unroll 1
  for (int start = 0; start <= blockIdx.x * B; start += B) {
    __syncthreads();
#pragma unroll 1
    for (int d = 0; d < D; d++) {
      int from = start + threadIdx.x;
      tk[threadIdx.x][d] = from < length ? base_k[from * D + d] : 0;
      tv[threadIdx.x][d] = from < length ? base_v[from * D + d] : 0;
    }
    __syncthreads();
#pragma unroll 1
    for (int j = 0; j < B && start + j <= row && start + j < length; j++) {
      float score = 0;
      for (int d = 0; d < D; d++) score += mine[d] * tk[j][d];
      score *= 0.35355339f;
      float higher = fmaxf(top, score), old = __expf(top - higher), now = __expf(score - higher);
      for (int d = 0; d < D; d++) sum[d] = sum[d] * old + now * tv[j][d];
      weight = weight * old + now;
      top = higher;
    }
  }
  if (row < length)
    for (int d = 0; d < D; d++) out[(head * length + row) * D + d] = sum[d] / weight;
}

extern "C" __global__ void cross_entropy(int classes, const float *logits, const int *target,
                                         float *loss) {
  extern __shared__ float parts[];
  int t = threadIdx.x;
  const float *row = logits + blockIdx.x * classes;
  float top = -INFINITY, sum = 0;
#pragma unroll 1
  for (int c = t; c < classes; c += blockDim.x) top = fmaxf(top, row[c]);
  top = block_reduce(top, true, parts);
#pragma unroll 1
  for (int c = t; c < classes; c += blockDim.x) sum += __expf(row[c] - top);
  sum = block_reduce(sum, false, parts);
  if (t == 0) loss[blockIdx.x] = __logf(sum) + top - row[target[blockIdx.x]];
}

extern "C" __global__ void embedding_backward(int dim, const int *index, const float *grad, float *table) {
  int row = blockIdx.x, target = index[row];
  if (target < 0) return;
#pragma unroll 1
  for (int d = threadIdx.x; d < dim; d += blockDim.x)
    atomicAdd(&table[target * dim + d], grad[row * dim + d]);
}
