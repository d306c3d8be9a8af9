// FlashAttention-3's forward pass over pages of keys and values, which small copies (cp.async) gather.
#include <flashinfer/attention/hopper/default_params.cuh>
#include <flashinfer/attention/hopper/prefill_sm90.cuh>
#include <flashinfer/attention/hopper/variants.cuh>
using namespace flashinfer;
using Type = cutlass::bfloat16_t;
using Params = BatchPrefillPagedParams<Type, Type, Type, int32_t>;
cudaError_t forward(Params &params, cudaStream_t stream) {
  return BatchPrefillWithPagedKVCacheDispatched<128, 128, MaskMode::kCausal, false, false, StandardAttention>(params, false, stream);
}
