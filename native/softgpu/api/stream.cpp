// Streams: creation, queries, waits.
#include "softgpu/driver/capture.h"
#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

CUresult create(CUstream* phStream, unsigned flags, int priority) {
  Call call;
  if (call.error != CUDA_SUCCESS) return call.error;
  if (phStream == nullptr || flags > 1) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = make_stream(call.d, *call.context, flags, priority);
  call.d.streams[stream->handle] = stream;
  *phStream = stream->handle;
  return CUDA_SUCCESS;
}

// For calls that need a context only to know what stream 0 means.
Stream* resolve(Call& call, CUstream handle) {
  if (call.error == CUDA_ERROR_INVALID_CONTEXT) call.error = CUDA_SUCCESS;
  return call.error == CUDA_SUCCESS ? call.stream(handle) : nullptr;
}

// A wait for a stream that is captured would never end.
CUresult may_wait(Call& call, Stream& stream) {
  if (stream.capture) {
    stream.capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (stream.legacy && blocked_by_capture(call.d, stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  return call.is_unsafe_in_capture() ? call.error : CUDA_SUCCESS;
}

}  // namespace

CUresult cuStreamCreate(CUstream* phStream, unsigned int Flags) { return create(phStream, Flags, 0); }

CUresult cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
  return create(phStream, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream hStream) {
  Call call(Call::Needs::init);
  if (call.error != CUDA_SUCCESS) return call.error;
  const auto found = call.d.streams.find(hStream);
  if (found == call.d.streams.end()) return CUDA_ERROR_INVALID_HANDLE;
  const std::shared_ptr<Stream> stream = found->second;
  leave_capture(call.d, *stream);
  stream->detached = true;
  call.d.streams.erase(found);
  if (stream->queue.empty()) {
    auto& all = stream->context->root->streams;
    for (auto at = all.begin(); at != all.end(); ++at) {
      if (*at != stream) continue;
      all.erase(at);
      break;
    }
  }
  return CUDA_SUCCESS;
}

// The version before CUDA 4 waits for the stream's work (an H100, driver 580).
CUresult cuStreamDestroy(CUstream hStream) {
  {
    Call call(Call::Needs::init);
    const auto found = call.d.streams.find(hStream);
    if (call.error == CUDA_SUCCESS && found != call.d.streams.end() && !found->second->capture)
      call.wait(everything(*found->second));
  }
  return cuStreamDestroy_v2(hStream);
}

CUresult cuStreamSynchronize(CUstream hStream) {
  Call call;
  Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  const CUresult error = may_wait(call, *stream);
  if (error != CUDA_SUCCESS) return error;
  call.wait(everything(*stream));
  return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream hStream) {
  Call call;
  Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  const CUresult error = may_wait(call, *stream);
  if (error != CUDA_SUCCESS) return error;
  const std::vector<Ticket> tickets = everything(*stream);
  call.d.engine.pump(now());
  for (const Ticket& ticket : tickets) {
    if (!ticket.is_complete()) return CUDA_ERROR_NOT_READY;
  }
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream hStream, CUcontext* pctx) {
  Call call;
  const Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pctx = reinterpret_cast<CUcontext>(stream->context->root);
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx_v2(CUstream hStream, CUcontext* pCtx, CUgreenCtx* pGreenCtx) {
  Call call;
  const Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  if (pCtx == nullptr || pGreenCtx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pCtx = reinterpret_cast<CUcontext>(stream->context->root);
  *pGreenCtx = nullptr;
  for (const auto& [green, owned] : call.d.greens) {
    if (green->context == stream->context) *pGreenCtx = reinterpret_cast<CUgreenCtx>(green), *pCtx = nullptr;
  }
  return CUDA_SUCCESS;
}

CUresult cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx* phCtx) {
  CUcontext unused = nullptr;
  return cuStreamGetCtx_v2(hStream, &unused, phCtx);
}

CUresult cuStreamGetDevice(CUstream hStream, CUdevice* device) {
  Call call;
  const Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = CUdevice(stream->context->device);
  return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream hStream, unsigned int* flags) {
  Call call;
  const Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream hStream, int* priority) {
  Call call;
  const Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream hStream, unsigned long long* streamId) {
  Call call;
  const Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  if (streamId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *streamId = stream->id;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue* value) {
  Call call;
  const Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *value = stream->policy;
  if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) value->priority = stream->priority;
  return CUDA_SUCCESS;
}

CUresult cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue* param) {
  Call call;
  Stream* stream = resolve(call, hStream);
  if (stream == nullptr) return call.error;
  if (param == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) stream->priority = param->priority;
  else stream->policy = *param;
  return CUDA_SUCCESS;
}

CUresult cuStreamCopyAttributes(CUstream dstStream, CUstream srcStream) {
  Call call;
  Stream* to = resolve(call, dstStream);
  const Stream* from = to == nullptr ? nullptr : call.stream(srcStream);
  if (from == nullptr) return call.error;
  to->policy = from->policy;
  return CUDA_SUCCESS;
}

CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr, size_t, unsigned int) {
  Call call;
  Stream* stream = resolve(call, hStream);
  return stream == nullptr ? call.error : submit(call.d, *stream, Work{});
}

}  // namespace cotenant::cu
