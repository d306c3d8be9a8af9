#include "communicator.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "arithmetic.h"

namespace nccl {
namespace {

struct Called {
  ncclComm_t comm;
  Part part;
  CUstream stream;
};

// A communicator that a group makes: by joining `name`, or as a part of `parent`.
struct Made {
  ncclComm_t* out;
  ncclComm_t comm;
  std::string name;
  unsigned ranks;
  unsigned rank;
  ncclComm_t parent;
  unsigned split;
};

thread_local int depth = 0;
thread_local std::vector<Called> calls;
thread_local std::vector<Made> making;
thread_local std::string error;

ncclResult_t fail(ncclResult_t result, const std::string& sentence) {
  set_last_error(sentence);
  return result;
}

ncclResult_t prepare(ncclComm_t comm) {
  const Cuda& cu = cuda();
  if (cu.cuInit(0) != CUDA_SUCCESS) return fail(ncclUnhandledCudaError, "cuInit failed.");
  cu.cuCtxGetCurrent(&comm->context);
  if (comm->context == nullptr && cu.cuDevicePrimaryCtxRetain(&comm->context, 0) != CUDA_SUCCESS)
    return fail(ncclUnhandledCudaError, "There is no context.");
  const Current current(comm->context);
  const bool ready = cu.cuCtxGetDevice(&comm->device) == CUDA_SUCCESS &&
                     cu.cuModuleLoadData(&comm->code, kernels().c_str()) == CUDA_SUCCESS &&
                     cu.cuEventCreate(&comm->done, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
  return ready ? ncclSuccess : fail(ncclUnhandledCudaError, "The kernels can't be loaded.");
}

// The members of a split: those of the same colour, by key, then by rank.
void settle_split(Made& made) {
  Header& header = made.parent->exchange->header();
  const unsigned self = made.parent->exchange->rank;
  const unsigned at = made.split % 2;
  for (unsigned rank = 0; rank < made.parent->exchange->ranks; ++rank) {
    while (header.split[rank].load(std::memory_order_acquire) < made.split) pause_a_little();
  }
  std::vector<std::pair<int, unsigned>> members;
  for (unsigned rank = 0; rank < made.parent->exchange->ranks; ++rank) {
    if (header.colors[rank][at] == header.colors[self][at]) members.push_back({header.keys[rank][at], rank});
  }
  std::sort(members.begin(), members.end());
  made.ranks = unsigned(members.size());
  made.rank = unsigned(std::find(members.begin(), members.end(), std::pair(int(header.keys[self][at]), self)) -
                       members.begin());
  made.name =
      made.parent->exchange->name + "-" + std::to_string(made.split) + "-" + std::to_string(header.colors[self][at]);
}

ncclResult_t make_all() {
  std::vector<Made> all;
  all.swap(making);
  for (Made& made : all) {
    if (made.parent != nullptr) settle_split(made);
    made.comm->exchange = Exchange::join(made.name, made.ranks, made.rank);
    if (!made.comm->exchange)
      return fail(ncclSystemError, "The ranks' shared file can't be made: " + std::string(std::strerror(errno)) + ".");
  }
  for (const Made& made : all) made.comm->exchange->wait_for_all();
  return ncclSuccess;
}

bool is_capturing(CUstream stream) {
  CUstreamCaptureStatus status{};
  return cuda().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// Puts the kernel of these parts into the first one's stream, in order with the others' streams.
ncclResult_t launch(ncclComm_t comm, const std::vector<Called>& called) {
  const Cuda& cu = cuda();
  const Current current(comm->context);
  const CUstream stream = called.front().stream;
  const bool captures = is_capturing(stream);
  std::vector<CUstream> others;
  std::vector<Part> parts;
  for (const Called& one : called) {
    parts.push_back(one.part);
    if (one.stream != stream && std::find(others.begin(), others.end(), one.stream) == others.end())
      others.push_back(one.stream);
  }
  if (comm->has_last && comm->last != stream && !captures) cu.cuStreamWaitEvent(stream, comm->done, 0);
  for (const CUstream other : others) {
    cu.cuEventRecord(comm->done, other);
    cu.cuStreamWaitEvent(stream, comm->done, 0);
  }
  auto* operation = new Operation(comm->exchange, std::move(parts), !captures);
  Operation* meeting = operation;
  std::uint64_t ns = operation->duration();
  unsigned sms = operation->sms();
  CUfunction function = nullptr;
  void* parameters[] = {&meeting, &ns, &sms};
  const std::string name = operation->kernel();
  if (cu.cuModuleGetFunction(&function, comm->code, name.c_str()) != CUDA_SUCCESS ||
      cu.cuLaunchKernel(function, sms, 1, 1, 512, 1, 1, 0, stream, parameters, nullptr) != CUDA_SUCCESS) {
    return fail(ncclUnhandledCudaError, "The kernel " + name + " can't be launched.");
  }
  if (captures && others.empty()) return ncclSuccess;
  cu.cuEventRecord(comm->done, stream);
  for (const CUstream other : others) cu.cuStreamWaitEvent(other, comm->done, 0);
  if (captures) return ncclSuccess;
  comm->last = stream;
  comm->has_last = true;
  return ncclSuccess;
}

// A kernel has one operation of each lane, because a member is at most one operation ahead. What follows in the same
// lane is in the next kernel.
ncclResult_t launch_all() {
  std::vector<Called> all;
  all.swap(calls);
  while (!all.empty()) {
    const ncclComm_t comm = all.front().comm;
    std::vector<Called> now;
    std::vector<Called> later;
    for (const Called& one : all) {
      const auto is_same_lane = [&](const Called& other) {
        if (one.part.is_collective() || other.part.is_collective())
          return one.part.is_collective() == other.part.is_collective();
        return one.part.kind == other.part.kind && one.part.root == other.part.root;
      };
      const bool fits = one.comm == comm && std::none_of(now.begin(), now.end(), is_same_lane);
      (fits ? now : later).push_back(one);
    }
    const ncclResult_t result = launch(comm, now);
    if (result != ncclSuccess) return result;
    all.swap(later);
  }
  return ncclSuccess;
}

}  // namespace

void set_last_error(const std::string& sentence) { error = sentence; }
const char* last_error() { return error.c_str(); }

ncclResult_t make_communicator(ncclComm_t* out, const std::string& name, int ranks, int rank) {
  if (out == nullptr || ranks < 1 || rank < 0 || rank >= ranks)
    return fail(ncclInvalidArgument, "A rank lies outside its communicator.");
  if (unsigned(ranks) > kMaxRanks) return fail(ncclInvalidArgument, "The stand-in has at most 8 ranks.");
  auto* comm = new ncclComm;
  const ncclResult_t result = prepare(comm);
  if (result != ncclSuccess) return result;
  *out = comm;
  making.push_back({out, comm, name, unsigned(ranks), unsigned(rank), nullptr, 0});
  return depth > 0 ? ncclSuccess : make_all();
}

ncclResult_t split_communicator(ncclComm_t parent, int color, int key, ncclComm_t* out) {
  Header& header = parent->exchange->header();
  const unsigned rank = parent->exchange->rank;
  const unsigned number = ++parent->splits;
  header.colors[rank][number % 2] = color;
  header.keys[rank][number % 2] = key;
  header.split[rank].store(number, std::memory_order_release);
  *out = nullptr;
  if (color < 0) {
    // It takes part in the wait for all: the next split may overwrite what others still read.
    for (unsigned other = 0; other < parent->exchange->ranks; ++other) {
      while (depth == 0 && header.split[other].load(std::memory_order_acquire) < number) pause_a_little();
    }
    return ncclSuccess;
  }
  auto* comm = new ncclComm;
  const Current current(parent->context);
  const ncclResult_t result = prepare(comm);
  if (result != ncclSuccess) return result;
  *out = comm;
  making.push_back({out, comm, {}, 0, 0, parent, number});
  return depth > 0 ? ncclSuccess : make_all();
}

ncclResult_t finish_communicator(ncclComm_t comm) {
  if (!comm->has_last) return ncclSuccess;
  const Current current(comm->context);
  return cuda().cuEventSynchronize(comm->done) == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

void free_communicator(ncclComm_t comm) {
  {
    const Current current(comm->context);
    cuda().cuEventDestroy_v2(comm->done);
  }
  delete comm;  // its code stays: its kernels may still run
}

ncclResult_t call(ncclComm_t comm, const Part& part, CUstream stream) {
  if (comm == nullptr || !comm->exchange) return fail(ncclInvalidArgument, "There is no such communicator.");
  if (bytes_of(part.type) == 0) return fail(ncclInvalidArgument, "There is no such data type.");
  const bool reduces = part.kind == Kind::kAllReduce || part.kind == Kind::kReduce || part.kind == Kind::kReduceScatter;
  if (reduces && (!is_reducible(part.type) || unsigned(part.op) >= ncclNumOps))
    return fail(ncclInvalidArgument, "The stand-in does not reduce this data type, or by this operation.");
  if (part.root >= comm->exchange->ranks) return fail(ncclInvalidArgument, "There is no such rank.");
  if (part.contributed(comm->exchange->ranks) > kMaxBytes)
    return fail(ncclInvalidArgument, "The stand-in takes at most 64 MiB of a rank in one operation.");
  calls.push_back({comm, part, stream});
  return depth > 0 ? ncclSuccess : launch_all();
}

ncclResult_t begin_group() {
  ++depth;
  return ncclSuccess;
}

ncclResult_t end_group() {
  if (depth == 0) return fail(ncclInvalidUsage, "No group has been started.");
  if (--depth > 0) return ncclSuccess;
  const ncclResult_t made = make_all();
  return made == ncclSuccess ? launch_all() : made;
}

}  // namespace nccl
