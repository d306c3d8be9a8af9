// nvcc: -rdc=true
// To be refused: a kernel that launches kernels.

__global__ void child(int *data) { data[threadIdx.x] += 1; }

extern "C" __global__ void dynamic_parallelism(int *data) {
  if (threadIdx.x == 0) child<<<1, 32>>>(data);
}
