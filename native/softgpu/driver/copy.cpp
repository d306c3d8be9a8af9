#include "softgpu/driver/copy.h"

#include <cstring>

namespace cotenant::soft {
namespace {

constexpr std::size_t kStaged = 64 << 10;  // the driver copies so many bytes of a pageable source during the call

std::size_t span(const Box& box, const CopyWork& copy) {
  return box.slice * (copy.depth - 1) + box.pitch * (copy.height - 1) + copy.width;
}

// Copies the source into a separate buffer, with rows packed.
void stage(CopyWork& copy) {
  auto bytes = std::make_shared<std::vector<unsigned char>>(copy.bytes());
  CopyWork gather = copy;
  gather.to = {reinterpret_cast<std::uintptr_t>(bytes->data()), copy.width, copy.width * copy.height};
  move(gather);
  copy.staged = std::move(bytes);
  copy.from = {0, copy.width, copy.width * copy.height};
}

// One side of a copy that a struct describes.
bool side(Driver& d, CUmemorytype type, const void* host, CUdeviceptr device, CUarray handle, std::size_t x,
          std::size_t y, std::size_t z, std::size_t pitch, std::size_t height, const CUDA_MEMCPY3D& form, Box& out) {
  if (pitch == 0) pitch = form.WidthInBytes + x;
  if (height == 0) height = form.Height + y;
  if (type == CU_MEMORYTYPE_ARRAY) {
    const auto* array = object<Array>(handle);
    if (d.arrays.count(const_cast<Array*>(array)) == 0) return false;
    pitch = array->shape.Width * array->element;
    height = array->shape.Height == 0 ? 1 : array->shape.Height;
    out.base = array->base;
    if (x + form.WidthInBytes > pitch || y + form.Height > height) return false;
  } else {
    out.base = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uintptr_t>(host) : std::uintptr_t(device);
    if (out.base == 0) return false;
    if (pitch < form.WidthInBytes) return false;
  }
  out.pitch = pitch;
  out.slice = pitch * height;
  out.base += z * out.slice + y * pitch + x;
  return type >= CU_MEMORYTYPE_HOST && type <= CU_MEMORYTYPE_UNIFIED;
}

}  // namespace

Direction direction_of(Driver& d, const CopyWork& copy) {
  const Allocation* to = d.memory.find(copy.to.base);
  const Allocation* from = d.memory.find(copy.from.base);
  const bool from_device = from != nullptr && from->on_device();
  if (to != nullptr && to->on_device()) return from_device ? Direction::on_device : Direction::host_to_device;
  return from_device ? Direction::device_to_host : Direction::host_to_host;
}

CopyWork linear(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  CopyWork copy;
  copy.to = {to, bytes, bytes};
  copy.from = {from, bytes, bytes};
  copy.width = bytes;
  return copy;
}

CUresult submit_copy(Call& call, CUstream handle, CopyWork copy, Waits waits) {
  if (call.error == CUDA_ERROR_INVALID_CONTEXT) call.error = CUDA_SUCCESS;
  Stream* stream = call.error == CUDA_SUCCESS ? call.stream_with_room(handle) : nullptr;
  if (stream == nullptr) return call.error;
  if (copy.bytes() == 0) return CUDA_SUCCESS;
  Memory& memory = call.d.memory;
  const Allocation* to = memory.find(copy.to.base);
  const Allocation* from = memory.find(copy.from.base);
  // Addresses that are reserved and not mapped are no memory of the host either.
  if (memory.is_reserved(copy.to.base) && to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (memory.is_reserved(copy.from.base) && from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if ((to != nullptr && memory.find(copy.to.base, span(copy.to, copy)) == nullptr) ||
      (from != nullptr && memory.find(copy.from.base, span(copy.from, copy)) == nullptr) || copy.to.base == 0 ||
      copy.from.base == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  copy.direction = direction_of(call.d, copy);
  const bool pageable = to == nullptr || from == nullptr;
  bool wait = waits == Waits::as_needed ? copy.direction != Direction::on_device : pageable;
  if (!stream->capture && from == nullptr && copy.direction == Direction::host_to_device && copy.bytes() <= kStaged) {
    stage(copy);
    wait = false;
  }
  if (stream->capture && waits == Waits::as_needed) {
    stream->capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  wait = wait && !stream->capture;
  const CUresult error = submit(call.d, *stream, std::move(copy));
  if (error == CUDA_SUCCESS && wait) call.wait({stream->last()});
  return error;
}

CUresult submit_fill(Call& call, CUstream handle, const FillWork& fill) {
  if (call.error == CUDA_ERROR_INVALID_CONTEXT) call.error = CUDA_SUCCESS;
  Stream* stream = call.error == CUDA_SUCCESS ? call.stream_with_room(handle) : nullptr;
  if (stream == nullptr) return call.error;
  if (fill.width == 0 || fill.height == 0) return CUDA_SUCCESS;
  const std::size_t reach = fill.to.pitch * (fill.height - 1) + fill.width * fill.element;
  if (fill.to.base % fill.element != 0 || call.d.memory.find(fill.to.base, reach) == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return submit(call.d, *stream, fill);
}

CUDA_MEMCPY3D widen(const CUDA_MEMCPY2D& form) {
  CUDA_MEMCPY3D wide{};
  wide.srcXInBytes = form.srcXInBytes;
  wide.srcY = form.srcY;
  wide.srcMemoryType = form.srcMemoryType;
  wide.srcHost = form.srcHost;
  wide.srcDevice = form.srcDevice;
  wide.srcArray = form.srcArray;
  wide.srcPitch = form.srcPitch;
  wide.dstXInBytes = form.dstXInBytes;
  wide.dstY = form.dstY;
  wide.dstMemoryType = form.dstMemoryType;
  wide.dstHost = form.dstHost;
  wide.dstDevice = form.dstDevice;
  wide.dstArray = form.dstArray;
  wide.dstPitch = form.dstPitch;
  wide.WidthInBytes = form.WidthInBytes;
  wide.Height = form.Height;
  wide.Depth = 1;
  return wide;
}

CUDA_MEMCPY3D widen(const CUDA_MEMCPY3D_PEER& form) {
  CUDA_MEMCPY3D plain;
  static_assert(sizeof plain == sizeof form, "the contexts take the place of the reserved words");
  std::memcpy(&plain, &form, sizeof plain);
  return plain;
}

bool boxes(Driver& d, const CUDA_MEMCPY3D& form, CopyWork& out) {
  if (form.srcLOD != 0 || form.dstLOD != 0) return false;
  out.width = form.WidthInBytes;
  out.height = form.Height;
  out.depth = form.Depth;
  if (out.bytes() == 0) return true;
  return side(d, form.srcMemoryType, form.srcHost, form.srcDevice, form.srcArray, form.srcXInBytes, form.srcY,
              form.srcZ, form.srcPitch, form.srcHeight, form, out.from) &&
         side(d, form.dstMemoryType, form.dstHost, form.dstDevice, form.dstArray, form.dstXInBytes, form.dstY,
              form.dstZ, form.dstPitch, form.dstHeight, form, out.to);
}

CUDA_MEMCPY3D struct_of(const CopyWork& copy) {
  CUDA_MEMCPY3D form{};
  form.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  form.srcDevice = copy.from.base;
  form.srcPitch = copy.from.pitch;
  form.srcHeight = copy.from.pitch == 0 ? 0 : copy.from.slice / copy.from.pitch;
  form.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  form.dstDevice = copy.to.base;
  form.dstPitch = copy.to.pitch;
  form.dstHeight = copy.to.pitch == 0 ? 0 : copy.to.slice / copy.to.pitch;
  form.WidthInBytes = copy.width;
  form.Height = copy.height;
  form.Depth = copy.depth;
  return form;
}

}  // namespace cotenant::soft
