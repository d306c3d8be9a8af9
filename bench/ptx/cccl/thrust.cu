// nvcc: --extended-lambda
// Kernels of Thrust: transforms, gathers, sets, searches.
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/gather.h>
#include <thrust/inner_product.h>
#include <thrust/merge.h>
#include <thrust/reduce.h>
#include <thrust/set_operations.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

void all(const int* a, const int* b, int* c, float* f, int n) {
  const auto device = thrust::device;
  thrust::transform(device, a, a + n, b, c, [] __device__(int x, int y) { return x * y; });
  thrust::gather(device, a, a + n, b, c);
  thrust::inner_product(device, a, a + n, b, 0);
  thrust::merge(device, a, a + n, b, b + n, c);
  thrust::set_union(device, a, a + n, b, b + n, c);
  thrust::set_intersection(device, a, a + n, b, b + n, c);
  thrust::lower_bound(device, a, a + n, b, b + n, c);
  thrust::unique(device, c, c + n);
  thrust::reduce_by_key(device, a, a + n, b, c, c + n);
  thrust::adjacent_difference(device, f, f + n, f);
  thrust::copy_if(device, a, a + n, c, [] __device__(int x) { return x > 3; });
}
