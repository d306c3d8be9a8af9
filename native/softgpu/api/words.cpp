// Words that a stream writes behind its work, or waits for. A wait is evaluated when the stream reaches it.
#include "softgpu/driver/driver.h"

namespace cotenant::cu {

using namespace soft;

namespace {

CUresult check(Call& call, const CUstreamBatchMemOpParams& word) {
  const auto& value = word.waitValue;
  switch (word.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: {
      const std::size_t size = word.operation >= CU_STREAM_MEM_OP_WAIT_VALUE_64 ? 8 : 4;
      // The address must be in memory that the device knows: its own, or registered host memory.
      if (value.address % size != 0 || call.d.memory.find(value.address, size) == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      return CUDA_SUCCESS;
    }
    case CU_STREAM_MEM_OP_BARRIER: return CUDA_SUCCESS;
    default: return CUDA_ERROR_NOT_SUPPORTED;  // this device can't flush remote writes
  }
}

CUresult submit_words(CUstream handle, unsigned count, const CUstreamBatchMemOpParams* words, unsigned flags) {
  if (flags != 0 || count > 256 || (words == nullptr && count > 0)) return CUDA_ERROR_INVALID_VALUE;
  Call call;
  if (call.error == CUDA_ERROR_INVALID_CONTEXT) call.error = CUDA_SUCCESS;
  Stream* stream = call.error == CUDA_SUCCESS ? call.stream_with_room(handle) : nullptr;
  if (stream == nullptr) return call.error;
  for (unsigned i = 0; i < count; ++i) {
    const CUresult error = check(call, words[i]);
    if (error != CUDA_SUCCESS) return error;
  }
  return submit(call.d, *stream, WordsWork{{words, words + count}});
}

CUresult submit_word(CUstream stream, CUstreamBatchMemOpType operation, CUdeviceptr address, cuuint64_t value,
                     unsigned flags) {
  CUstreamBatchMemOpParams word{};
  word.waitValue.operation = operation;
  word.waitValue.address = address;
  word.waitValue.value64 = value;
  word.waitValue.flags = flags;
  return submit_words(stream, 1, &word, 0);
}

}  // namespace

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags) {
  return submit_word(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, value, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags) {
  return submit_word(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, addr, value, flags);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags) {
  return submit_word(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, value, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags) {
  return submit_word(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, addr, value, flags);
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* paramArray,
                               unsigned int flags) {
  return submit_words(stream, count, paramArray, flags);
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags) {
  return cuStreamWriteValue32_v2(stream, addr, value, flags);
}
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags) {
  return cuStreamWriteValue64_v2(stream, addr, value, flags);
}
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags) {
  return cuStreamWaitValue32_v2(stream, addr, value, flags);
}
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags) {
  return cuStreamWaitValue64_v2(stream, addr, value, flags);
}
CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* paramArray,
                            unsigned int flags) {
  return submit_words(stream, count, paramArray, flags);
}

}  // namespace cotenant::cu
