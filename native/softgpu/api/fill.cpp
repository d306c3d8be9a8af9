// Fills. The synchronous ones return before the fill is done, as the driver's do for device memory.
#include "softgpu/driver/copy.h"

namespace cotenant::cu {

using namespace soft;

namespace {

CUresult fill(CUdeviceptr to, std::size_t pitch, unsigned value, unsigned element, std::size_t width,
              std::size_t height, CUstream stream) {
  Call call;
  FillWork work;
  work.to = {std::uintptr_t(to), pitch, 0};
  work.value = value;
  work.element = element;
  work.width = width;
  work.height = height;
  return submit_fill(call, stream, work);
}

}  // namespace

CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char uc, size_t N) { return fill(dst, N, uc, 1, N, 1, nullptr); }
CUresult cuMemsetD16_v2(CUdeviceptr dst, unsigned short us, size_t N) { return fill(dst, 2 * N, us, 2, N, 1, nullptr); }
CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned int ui, size_t N) { return fill(dst, 4 * N, ui, 4, N, 1, nullptr); }
CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char uc, size_t N, CUstream stream) {
  return fill(dst, N, uc, 1, N, 1, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short us, size_t N, CUstream stream) {
  return fill(dst, 2 * N, us, 2, N, 1, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned int ui, size_t N, CUstream stream) {
  return fill(dst, 4 * N, ui, 4, N, 1, stream);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char uc, size_t width, size_t height) {
  return fill(dst, pitch, uc, 1, width, height, nullptr);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch, unsigned short us, size_t width, size_t height) {
  return fill(dst, pitch, us, 2, width, height, nullptr);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch, unsigned int ui, size_t width, size_t height) {
  return fill(dst, pitch, ui, 4, width, height, nullptr);
}
CUresult cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char uc, size_t width, size_t height,
                           CUstream stream) {
  return fill(dst, pitch, uc, 1, width, height, stream);
}
CUresult cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short us, size_t width, size_t height,
                            CUstream stream) {
  return fill(dst, pitch, us, 2, width, height, stream);
}
CUresult cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned int ui, size_t width, size_t height,
                            CUstream stream) {
  return fill(dst, pitch, ui, 4, width, height, stream);
}

}  // namespace cotenant::cu
