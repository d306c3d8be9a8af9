// Ranks that wait keep their devices busy. `nccl-waits CASE FILE` is one rank of two.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "rank.h"
#include "softgpu/device/device.h"

namespace {

constexpr std::size_t kCount = 50'000;
constexpr std::uint64_t kLongNs = 150'000'000;  // busy time reaches the shared file each 100 ms

std::uint64_t busy_ns(unsigned device) {
  static const auto* shared = [] {
    const int file = open((std::string(std::getenv("COTENANT_SOFTGPU_DIR")) + "/devices").c_str(), O_RDONLY);
    void* pages = mmap(nullptr, sizeof(cotenant::soft::Shared), PROT_READ, MAP_SHARED, file, 0);
    EXPECT(pages != MAP_FAILED, "the state of the devices can be mapped");
    return static_cast<const cotenant::soft::Shared*>(pages);
  }();
  return shared->device[device].busy_ns.load();
}

void wait_while_busy(unsigned device) {
  const std::uint64_t before = busy_ns(device);
  while (busy_ns(device) < before + kLongNs) rest(1000);
}

void all_reduce(const Rank& self, const Floats& data, CUstream stream) {
  NCCL(ncclAllReduce(data.from(), data.from(), kCount, ncclFloat32, ncclSum, self.comm, stream));
}

}  // namespace

// Rank 1 launches its part only after it has seen rank 0's device busy for long.
CASE("late") {
  const Rank self(arguments[0]);
  const CUstream stream = self.gpu.stream();
  const Floats data(kCount);
  self.fill(stream, data, 1);
  if (self.rank == 1) wait_while_busy(0);
  if (self.rank == 1) EXPECT(busy_ns(1) < kLongNs, "the late rank's own device is idle");
  all_reduce(self, data, stream);
  OK(cuStreamSynchronize(stream));
  self.check(data, 2, "the sum");
}

// Rank 1's kernel waits behind a word, as a paused stream does.
CASE("paused") {
  const Rank self(arguments[0]);
  const CUstream stream = self.gpu.stream();
  const Floats data(kCount);
  const Hold hold;
  self.fill(stream, data, 1);
  if (self.rank == 1) hold.close(stream);
  all_reduce(self, data, stream);
  if (self.rank == 1) {
    wait_while_busy(0);
    EXPECT(!done(stream), "the collective has not ended");
    hold.open();
  }
  OK(cuStreamSynchronize(stream));
  self.check(data, 2, "the sum");
}

// Rank 1 is killed before its part. Rank 0's kernel ends when the communicator is aborted there, and without a result.
CASE("killed") {
  const Rank self(arguments[0]);
  const CUstream stream = self.gpu.stream();
  const Floats data(kCount);
  self.fill(stream, data, 1);
  OK(cuStreamSynchronize(stream));
  if (self.rank == 1) {
    wait_while_busy(0);
    raise(SIGKILL);
  }
  all_reduce(self, data, stream);
  wait_while_busy(0);
  wait_while_busy(0);
  EXPECT(!done(stream), "the collective has not ended");
  NCCL(ncclCommAbort(self.comm));
  OK(cuStreamSynchronize(stream));
  self.check(data, 1, "the data of a collective without a result");
  report("{\"checked\": %u}", self.checked);
  std::_Exit(0);  // the communicator has gone
}

// The ranks call different operations.
CASE("mismatch") {
  const Rank self(arguments[0]);
  const CUstream stream = self.gpu.stream();
  const Floats data(kCount);
  self.fill(stream, data, 1);
  NCCL(ncclAllReduce(data.from(), data.from(), kCount - std::size_t(self.rank), ncclFloat32, ncclSum, self.comm,
                     stream));
  OK(cuStreamSynchronize(stream));
  ncclResult_t error = ncclSuccess;
  NCCL(ncclCommGetAsyncError(self.comm, &error));
  EXPECT(error == ncclInvalidUsage, "the communicator reports it");
  self.check(data, 1, "the data");
}

int main(int count, char** words) { return run_case(count, words); }
