// The same in fp8, where the loading warps transpose V.
#include <flashinfer/attention/hopper/default_params.cuh>
#include <flashinfer/attention/hopper/quantization/prefill_sm90.cuh>
#include <flashinfer/attention/hopper/variants.cuh>
using namespace flashinfer;
using Type = cutlass::float_e4m3_t;
using Params = SinglePrefillParams<Type, Type, cutlass::half_t>;
cudaError_t forward(Params &params, cudaStream_t stream) {
  return SingleFP8PrefillWithKVCacheDispatched<128, MaskMode::kCausal, false, StandardFP8Attention>(params, stream);
}
