// Reductions, scans and run lengths of CUB and Thrust: a corpus of kernels that nobody wrote for us.
#include <cub/cub.cuh>
#include <cuda/functional>

template <class T>
void reduceAndScan(void* temp, size_t bytes, const T* in, T* out, int* count, int n, cudaStream_t stream) {
  cub::DeviceReduce::Sum(temp, bytes, in, out, n, stream);
  cub::DeviceReduce::ArgMin(temp, bytes, in, out, (long long*)count, n, stream);
  cub::DeviceScan::ExclusiveSum(temp, bytes, in, out, n, stream);
  cub::DeviceScan::InclusiveScan(temp, bytes, in, out, cuda::maximum<>{}, n, stream);
  cub::DeviceRunLengthEncode::Encode(temp, bytes, in, out, count, count, n, stream);
  cub::DeviceReduce::ReduceByKey(temp, bytes, in, out, in, out, count, cuda::std::plus<>{}, n, stream);
  cub::DeviceScan::ExclusiveSumByKey(temp, bytes, in, in, out, n, cuda::std::equal_to<>{}, stream);
  cub::DeviceSegmentedReduce::Sum(temp, bytes, in, out, n, count, count + 1, stream);
}

template void reduceAndScan<int>(void*, size_t, const int*, int*, int*, int, cudaStream_t);
template void reduceAndScan<double>(void*, size_t, const double*, double*, int*, int, cudaStream_t);
