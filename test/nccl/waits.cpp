// Ranks that wait keep their devices busy. `nccl-waits CASE FILE` is one rank of two.
#include <signal.h>

#include "device-busy.h"

namespace {

constexpr std::size_t kCount = 50'000;
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
