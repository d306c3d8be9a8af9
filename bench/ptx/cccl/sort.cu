// Sorts of CUB.
#include <cub/cub.cuh>

void sorts(void* temp, size_t bytes, const unsigned* in, unsigned* out, const float* values, float* sorted, const int* offsets,
           int n, cudaStream_t stream) {
  cub::DeviceRadixSort::SortKeys(temp, bytes, in, out, n, 0, 32, stream);
  cub::DeviceRadixSort::SortPairs(temp, bytes, in, out, values, sorted, n, 0, 32, stream);
  cub::DeviceMergeSort::SortKeys(temp, bytes, out, n, cuda::std::less<>{}, stream);
  cub::DeviceMergeSort::SortPairs(temp, bytes, out, sorted, n, cuda::std::less<>{}, stream);
  cub::DeviceSegmentedSort::SortKeys(temp, bytes, in, out, n, 10, offsets, offsets + 1, stream);
}
