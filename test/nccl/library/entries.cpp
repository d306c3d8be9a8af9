// The exported functions. As in libnccl.so, each has a second name, and the first one is weak.
#include <cstdio>
#include <cstring>

#include "communicator.h"
#include "exchange.h"
#include "nccl.h"

#define EXPORT extern "C" __attribute__((visibility("default")))
#define ENTRY(result, name, parameters, arguments) \
  EXPORT result p##name parameters;                \
  EXPORT __attribute__((weak, alias("p" #name))) result name parameters;
#include "entries.def"
#undef ENTRY

#define LACKING(name)                                                                          \
  EXPORT ncclResult_t p##name() {                                                              \
    static std::atomic<bool> said{false};                                                      \
    if (!said.exchange(true)) std::fputs("The stand-in for NCCL has no " #name ".\n", stderr); \
    return ncclInvalidUsage;                                                                   \
  }                                                                                            \
  EXPORT __attribute__((weak, alias("p" #name))) ncclResult_t name();
#include "lacking.def"
#undef LACKING

using namespace nccl;

ncclResult_t pncclGetVersion(int* version) {
  *version = 23203;
  return ncclSuccess;
}

const char* pncclGetErrorString(ncclResult_t result) {
  static const char* const sentences[] = {"no error",
                                          "unhandled cuda error",
                                          "unhandled system error",
                                          "internal error",
                                          "invalid argument",
                                          "invalid usage",
                                          "remote process exited or there was a network error",
                                          "NCCL operation in progress"};
  return unsigned(result) < std::size(sentences) ? sentences[result] : "unknown result code";
}

const char* pncclGetLastError(ncclComm_t) { return last_error(); }

ncclResult_t pncclMemAlloc(void** pointer, std::size_t size) {
  CUdeviceptr made = 0;
  if (cuda().cuMemAlloc_v2(&made, size) != CUDA_SUCCESS) return ncclUnhandledCudaError;
  *pointer = reinterpret_cast<void*>(std::uintptr_t(made));
  return ncclSuccess;
}
ncclResult_t pncclMemFree(void* pointer) {
  const auto at = CUdeviceptr(reinterpret_cast<std::uintptr_t>(pointer));
  return cuda().cuMemFree_v2(at) == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t pncclGetUniqueId(ncclUniqueId* id) {
  const std::string name = fresh_name();
  if (name.empty()) return ncclSystemError;
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->internal, name.data(), name.size());
  return ncclSuccess;
}

ncclResult_t pncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  id.internal[sizeof id.internal - 1] = 0;
  return make_communicator(comm, id.internal, ranks, rank);
}
ncclResult_t pncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t*) {
  return pncclCommInitRank(comm, ranks, id, rank);
}

ncclResult_t pncclCommInitAll(ncclComm_t* comm, int devices, const int* list) {
  ncclUniqueId id;
  ncclResult_t result = pncclGetUniqueId(&id);
  begin_group();
  for (int rank = 0; rank < devices && result == ncclSuccess; ++rank) {
    CUcontext context = nullptr;
    cuda().cuInit(0);
    if (cuda().cuDevicePrimaryCtxRetain(&context, list ? list[rank] : rank) != CUDA_SUCCESS) return ncclInvalidArgument;
    const Current current(context);
    result = pncclCommInitRank(&comm[rank], devices, id, rank);
  }
  const ncclResult_t made = end_group();
  return result == ncclSuccess ? made : result;
}

ncclResult_t pncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t*) {
  return split_communicator(comm, color, key, made);
}

ncclResult_t pncclCommFinalize(ncclComm_t comm) { return finish_communicator(comm); }

ncclResult_t pncclCommDestroy(ncclComm_t comm) {
  const ncclResult_t result = finish_communicator(comm);
  free_communicator(comm);
  return result;
}

// The kernels of this rank end; those of the others spin until they are aborted there.
ncclResult_t pncclCommAbort(ncclComm_t comm) {
  comm->exchange->aborted.store(true);
  return pncclCommDestroy(comm);
}

ncclResult_t pncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = comm->exchange->mismatch.load() ? ncclInvalidUsage : ncclSuccess;
  return ncclSuccess;
}
ncclResult_t pncclCommCount(const ncclComm_t comm, int* count) {
  *count = int(comm->exchange->ranks);
  return ncclSuccess;
}
ncclResult_t pncclCommCuDevice(const ncclComm_t comm, int* device) {
  *device = comm->device;
  return ncclSuccess;
}
ncclResult_t pncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = int(comm->exchange->rank);
  return ncclSuccess;
}

// Registered buffers are faster, and no more.
ncclResult_t pncclCommRegister(const ncclComm_t, void* buffer, std::size_t, void** handle) {
  *handle = buffer;
  return ncclSuccess;
}
ncclResult_t pncclCommDeregister(const ncclComm_t, void*) { return ncclSuccess; }

ncclResult_t pncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                            ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {Kind::kAllReduce, send, receive, count, type, op, 0}, stream);
}
ncclResult_t pncclReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                         int root, ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {Kind::kReduce, send, receive, count, type, op, unsigned(root)}, stream);
}
ncclResult_t pncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                            ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {Kind::kBroadcast, send, receive, count, type, ncclSum, unsigned(root)}, stream);
}
ncclResult_t pncclBcast(void* buffer, std::size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  return pncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
ncclResult_t pncclReduceScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                                ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {Kind::kReduceScatter, send, receive, count, type, op, 0}, stream);
}
ncclResult_t pncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                            cudaStream_t stream) {
  return call(comm, {Kind::kAllGather, send, receive, count, type, ncclSum, 0}, stream);
}
ncclResult_t pncclSend(const void* send, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                       cudaStream_t stream) {
  return call(comm, {Kind::kSend, send, nullptr, count, type, ncclSum, unsigned(peer)}, stream);
}
ncclResult_t pncclRecv(void* receive, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                       cudaStream_t stream) {
  return call(comm, {Kind::kReceive, nullptr, receive, count, type, ncclSum, unsigned(peer)}, stream);
}

ncclResult_t pncclGroupStart() { return begin_group(); }
ncclResult_t pncclGroupEnd() { return end_group(); }
