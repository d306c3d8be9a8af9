// A form of the first releases, which had addresses of 32 bits. No memory has one here, as in a 64-bit driver.
#include "softgpu/driver/driver.h"

namespace cotenant::cu {

extern "C" __attribute__((visibility("default"))) CUresult cuMemFree(unsigned int dptr);

CUresult cuMemFree(unsigned int) {
  const soft::Call call;
  return call.error == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : call.error;
}

}  // namespace cotenant::cu
