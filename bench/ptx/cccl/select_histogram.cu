// nvcc: --extended-lambda
// Selections, partitions and histograms of CUB.
#include <cub/cub.cuh>

struct Odd {
  __device__ bool operator()(int x) const { return x & 1; }
};

void selections(void* temp, size_t bytes, const int* in, int* out, const char* flags, int* count, int n, cudaStream_t stream) {
  cub::DeviceSelect::If(temp, bytes, in, out, count, n, Odd{}, stream);
  cub::DeviceSelect::Flagged(temp, bytes, in, flags, out, count, n, stream);
  cub::DeviceSelect::Unique(temp, bytes, in, out, count, n, stream);
  cub::DeviceSelect::UniqueByKey(temp, bytes, in, in, out, out, count, n, stream);
  cub::DevicePartition::If(temp, bytes, in, out, count, n, Odd{}, stream);
  cub::DevicePartition::Flagged(temp, bytes, in, flags, out, count, n, stream);
  cub::DeviceHistogram::HistogramEven(temp, bytes, in, out, 257, 0, 256, n, stream);
  cub::DeviceAdjacentDifference::SubtractLeftCopy(temp, bytes, in, out, n, cuda::std::minus<>{}, stream);
  cub::DeviceFor::Bulk(n, [out] __device__(int i) { out[i] = i; }, stream);
}
