// Training patterns: what the ranks of PyTorch's DDP and FSDP, of pipelines and of tensor-parallel pairs launch, in small.
// `nccl-patterns CASE FILE` is one rank.
#include <deque>

#include "rank.h"

namespace {

constexpr int kSteps = 4;
constexpr std::size_t kCount = 50'000;  // floats: several channels, a fraction of a millisecond

}  // namespace

// Gradients are reduced on a stream of their own, bucket by bucket, while the backward pass goes on.
CASE("data-parallel") {
  const Rank self(arguments[0]);
  const CUstream compute = self.gpu.stream(), communicate = self.gpu.stream();
  std::deque<Floats> buckets;
  for (int bucket = 0; bucket < 5; ++bucket) buckets.emplace_back(kCount);
  for (int step = 0; step < kSteps; ++step) {
    for (int bucket = 0; bucket < 5; ++bucket) {
      const Floats& gradients = buckets[std::size_t(bucket)];
      self.gpu.run(compute, 200);
      self.fill(compute, gradients, float(self.rank + bucket + step));
      self.order(compute, communicate);
      NCCL(ncclAllReduce(gradients.from(), gradients.from(), kCount, ncclFloat32, ncclSum, self.comm, communicate));
    }
    self.order(communicate, compute);
    for (const Floats& gradients : buckets) self.fma(compute, gradients, 2);
    OK(cuStreamSynchronize(compute));
    for (int bucket = 0; bucket < 5; ++bucket)
      self.check(buckets[std::size_t(bucket)], 2 * (self.all() + float(self.ranks * (bucket + step))) + 1, "a bucket");
  }
}

// Parameters are gathered ahead of the computation that needs them, and gradients scattered after it.
CASE("sharded-data-parallel") {
  const Rank self(arguments[0]);
  const CUstream compute = self.gpu.stream(), gather = self.gpu.stream(), scatter = self.gpu.stream();
  const auto world = std::size_t(self.ranks);
  const Floats shard(kCount), whole(kCount * world), gradients(kCount * world), reduced(kCount);
  for (int layer = 0; layer < kSteps; ++layer) {
    self.fill(gather, shard, float(10 * layer + self.rank));
    NCCL(ncclAllGather(shard.from(), whole.from(), kCount, ncclFloat32, self.comm, gather));
    self.order(gather, compute);
    self.gpu.run(compute, 300);
    self.fill(compute, gradients, float(layer + self.rank));
    self.order(compute, scatter);
    NCCL(ncclReduceScatter(gradients.from(), reduced.from(), kCount, ncclFloat32, ncclAvg, self.comm, scatter));
    self.order(scatter, compute);
    OK(cuStreamSynchronize(compute));
    const std::vector<float> parameters = whole.read();
    for (std::size_t i = 0; i < parameters.size(); ++i)
      EXPECT(parameters[i] == float(10 * layer) + float(i / kCount), "each rank's parameters are at their place");
    self.check(reduced, self.all() / float(self.ranks) + float(layer), "the shard of the gradients");
  }
}

// Each rank is a stage: activations go forward and gradients back, for some micro-batches.
CASE("pipeline") {
  const Rank self(arguments[0]);
  const CUstream compute = self.gpu.stream(), forward = self.gpu.stream(), back = self.gpu.stream();
  const bool is_first = self.rank == 0, is_last = self.rank + 1 == self.ranks;
  std::deque<Floats> batches;
  for (int batch = 0; batch < kSteps; ++batch) {
    const Floats& data = batches.emplace_back(kCount);
    if (is_first) self.fill(compute, data, float(batch));
    else NCCL(ncclRecv(data.from(), kCount, ncclFloat32, self.rank - 1, self.comm, forward));
    self.order(forward, compute);
    self.fma(compute, data, 2);
    self.order(compute, forward);
    if (!is_last) NCCL(ncclSend(data.from(), kCount, ncclFloat32, self.rank + 1, self.comm, forward));
  }
  self.order(forward, back);
  for (const Floats& data : batches) {
    if (!is_last) NCCL(ncclRecv(data.from(), kCount, ncclFloat32, self.rank + 1, self.comm, back));
    self.order(back, compute);
    self.fma(compute, data, 2);
    self.order(compute, back);
    if (!is_first) NCCL(ncclSend(data.from(), kCount, ncclFloat32, self.rank - 1, self.comm, back));
  }
  OK(cuCtxSynchronize());
  const int stages = 2 * self.ranks - self.rank;
  for (int batch = 0; batch < kSteps; ++batch)
    self.check(batches[std::size_t(batch)], float(((batch + 1) << stages) - 1), "a micro-batch");
}

// All ranks send to the next and receive from the one before at once, as ring attention does.
CASE("ring") {
  const Rank self(arguments[0]);
  const CUstream stream = self.gpu.stream();
  const Floats sent(kCount), received(kCount);
  const int next = (self.rank + 1) % self.ranks, previous = (self.rank + self.ranks - 1) % self.ranks;
  for (int step = 0; step < kSteps; ++step) {
    self.fill(stream, sent, float(100 * step + self.rank));
    NCCL(ncclGroupStart());
    NCCL(ncclSend(sent.from(), kCount / 2, ncclFloat32, next, self.comm, stream));
    NCCL(ncclRecv(received.from(), kCount / 2, ncclFloat32, previous, self.comm, stream));
    NCCL(ncclSend(sent.from(kCount / 2), kCount / 2, ncclFloat32, next, self.comm, stream));
    NCCL(ncclRecv(received.from(kCount / 2), kCount / 2, ncclFloat32, previous, self.comm, stream));
    NCCL(ncclGroupEnd());
    OK(cuStreamSynchronize(stream));
    self.check(received, float(100 * step + previous), "what the previous rank sent");
  }
}

// Pairs of tensor-parallel ranks; each rank reduces within its pair, then with its twins in the other pairs.
CASE("tensor-and-data-parallel") {
  const Rank self(arguments[0]);
  const CUstream compute = self.gpu.stream(), communicate = self.gpu.stream();
  ncclComm_t pair = nullptr, twins = nullptr;
  NCCL(ncclCommSplit(self.comm, self.rank / 2, self.rank, &pair, nullptr));
  NCCL(ncclCommSplit(self.comm, self.rank % 2, self.rank, &twins, nullptr));
  const Floats activations(kCount), gradients(kCount);
  for (int step = 0; step < kSteps; ++step) {
    for (int layer = 0; layer < 3; ++layer) {
      self.fill(compute, activations, float(self.rank + layer));
      NCCL(ncclAllReduce(activations.from(), activations.from(), kCount, ncclFloat32, ncclSum, pair, compute));
      self.gpu.run(compute, 100);
    }
    self.fill(compute, gradients, float(self.rank + step));
    self.order(compute, communicate);
    NCCL(ncclAllReduce(gradients.from(), gradients.from(), kCount, ncclFloat32, ncclMax, twins, communicate));
    self.order(communicate, compute);
    OK(cuStreamSynchronize(compute));
    self.check(activations, float(4 * (self.rank / 2) + 1 + 2 * 2), "the pair's sum");
    self.check(gradients, float((self.ranks - 2) + self.rank % 2 + step), "the twins' maximum");
  }
  NCCL(ncclCommDestroy(pair));
  NCCL(ncclCommDestroy(twins));
}

// A collective in a CUDA graph that is launched several times.
CASE("captured") {
  const Rank self(arguments[0]);
  const CUstream stream = self.gpu.stream();
  const Floats gradients(kCount);
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  self.fma(stream, gradients, 1);
  NCCL(ncclAllReduce(gradients.from(), gradients.from(), kCount, ncclFloat32, ncclSum, self.comm, stream));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  self.fill(stream, gradients, float(self.rank));
  float value = 0;
  for (int step = 0; step < kSteps; ++step) {
    OK(cuGraphLaunch(executable, stream));
    value = step == 0 ? self.all() + float(self.ranks) : float(self.ranks) * (value + 1);
  }
  NCCL(ncclAllReduce(gradients.from(), gradients.from(), kCount, ncclFloat32, ncclMin, self.comm, stream));
  OK(cuStreamSynchronize(stream));
  self.check(gradients, value, "the graph's result");
}

// One process and one thread with all devices.
CASE("one-process") {
  const int devices = number_of("WORLD_SIZE");
  std::vector<int> list;
  for (int device = 0; device < devices; ++device) list.push_back(device);
  std::vector<ncclComm_t> comms(list.size());
  NCCL(ncclCommInitAll(comms.data(), devices, list.data()));
  std::deque<Gpu> gpus;
  std::deque<Floats> data;
  std::vector<CUstream> streams;
  for (const int device : list) {
    const Gpu& gpu = gpus.emplace_back(device);
    streams.push_back(gpu.stream());
    const Floats& floats = data.emplace_back(kCount);
    const std::vector<float> values(kCount, float(device + 1));
    OK(cuMemcpyHtoD_v2(floats.at, values.data(), kCount * sizeof(float)));
  }
  for (int step = 0; step < kSteps; ++step) {
    NCCL(ncclGroupStart());
    for (std::size_t i = 0; i < list.size(); ++i)
      NCCL(ncclAllReduce(data[i].from(), data[i].from(), kCount, ncclFloat32, ncclAvg, comms[i], streams[i]));
    NCCL(ncclGroupEnd());
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    OK(cuCtxSetCurrent(gpus[i].context));
    OK(cuStreamSynchronize(streams[i]));
    for (const float each : data[i].read()) EXPECT(each == float(devices + 1) / 2, "each device has the mean");
    int rank = -1, device = -1, count = 0;
    NCCL(ncclCommUserRank(comms[i], &rank));
    NCCL(ncclCommCuDevice(comms[i], &device));
    NCCL(ncclCommCount(comms[i], &count));
    EXPECT(rank == int(i) && device == list[i] && count == devices, "a communicator knows its place");
    NCCL(ncclCommDestroy(comms[i]));
  }
  report("{\"checked\": %d}", devices);
}

namespace {

// Two numbers of a type, by rank, and what an operation makes of them.
struct Sample {
  ncclDataType_t type;
  ncclRedOp_t op;
  std::uint64_t of[2];
  std::uint64_t result;
};

constexpr Sample kSamples[] = {
    {ncclInt8, ncclMin, {0xfe, 5}, 0xfe},  // -2
    {ncclUint8, ncclMin, {0xfe, 5}, 5},
    {ncclInt32, ncclProd, {7, 6}, 42},
    {ncclUint32, ncclMax, {1, 0xffffffff}, 0xffffffff},
    {ncclInt64, ncclSum, {std::uint64_t(1) << 40, 1}, (std::uint64_t(1) << 40) + 1},
    {ncclFloat16, ncclSum, {0x3e00, 0x4080}, 0x4380},  // 1.5 + 2.25 = 3.75
    {ncclFloat16, ncclProd, {0x0400, 0x3800}, 0x0200},  // 2^-14 * 0.5 is subnormal
    {ncclFloat16, ncclSum, {0x7bff, 0x7bff}, 0x7c00},  // too large: infinite
    {ncclFloat16, ncclSum, {0x6800, 0x3c00}, 0x6800},  // 2048 + 1 lies between two: the even one
    {ncclBfloat16, ncclAvg, {0x3f80, 0x4040}, 0x4000},  // (1 + 3) / 2
    {ncclFloat64, ncclSum, {0x3ff8000000000000, 0x4002000000000000}, 0x400e000000000000},
};

}  // namespace

CASE("types") {
  const Rank self(arguments[0]);
  const CUstream stream = self.gpu.stream();
  const Floats memory(8);
  for (const Sample& sample : kSamples) {
    OK(cuMemcpyHtoD_v2(memory.at, &sample.of[self.rank], 8));
    NCCL(ncclAllReduce(memory.from(), memory.from(), 1, sample.type, sample.op, self.comm, stream));
    OK(cuStreamSynchronize(stream));
    const std::size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    std::uint64_t found = 0;
    OK(cuMemcpyDtoH_v2(&found, memory.at, sizes[sample.type]));
    if (found != sample.result)
      fail("type %d by %d: %llx instead of %llx", int(sample.type), int(sample.op),
           static_cast<unsigned long long>(found), static_cast<unsigned long long>(sample.result));
    ++self.checked;
  }
  if (self.rank == 0) self.fill(stream, memory, 7);
  NCCL(ncclBcast(memory.from(), 8, ncclFloat32, 0, self.comm, stream));
  OK(cuStreamSynchronize(stream));
  self.check(memory, 7, "a broadcast");
  NCCL(ncclReduce(memory.from(), memory.from(), 8, ncclFloat32, ncclSum, 1, self.comm, stream));
  OK(cuStreamSynchronize(stream));
  self.check(memory, self.rank == 1 ? 14 : 7, "a reduction to one rank");
}

int main(int count, char** words) { return run_case(count, words); }
