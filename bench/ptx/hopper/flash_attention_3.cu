// FlashAttention-3's forward pass, as FlashInfer ships it: causal, bf16, heads of 128.
#include <flashinfer/attention/hopper/default_params.cuh>
#include <flashinfer/attention/hopper/prefill_sm90.cuh>
#include <flashinfer/attention/hopper/variants.cuh>
using namespace flashinfer;
using Type = cutlass::bfloat16_t;
using Params = SinglePrefillParams<Type, Type, Type>;
cudaError_t forward(Params &params, cudaStream_t stream) {
  return SinglePrefillWithKVCacheDispatched<128, 128, MaskMode::kCausal, false, StandardAttention>(params, stream);
}
