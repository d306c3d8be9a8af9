// Ranks of a best-effort gang. `nccl-gangs CASE FILE` is one rank of two; files beside FILE are what the test and the ranks
// tell each other by.
#include <dlfcn.h>
#include <signal.h>

#include "device-busy.h"

namespace {

constexpr std::size_t kCount = 50'000;

bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }
void wait_for_file(const std::string& path) {
  while (!is_there(path)) rest(1000);
}

void all_reduce(const Rank& self, const Floats& data, CUstream stream) {
  NCCL(ncclAllReduce(data.from(), data.from(), kCount, ncclFloat32, ncclSum, self.comm, stream));
}

// A device that does nothing stays at what it is, however long this takes.
void expect_idle(unsigned device, const char* sentence) {
  rest(200'000);
  const std::uint64_t before = busy_ns(device);
  rest(500'000);
  EXPECT(busy_ns(device) - before < kLongNs, sentence);
}

}  // namespace

// A service is active on rank 0's device when both launch a collective. Rank 1's device computes meanwhile, and does not
// spin.
CASE("paused") {
  const Rank self(arguments[0]);
  const CUstream stream = self.gpu.stream(), other = self.gpu.stream();
  const Floats data(kCount);
  self.fill(stream, data, 1);
  all_reduce(self, data, stream);
  OK(cuStreamSynchronize(stream));
  std::fprintf(stderr, "ready\n");
  wait_for_file(arguments[0] + ".paused");
  all_reduce(self, data, stream);
  if (self.rank == 1) {
    for (int i = 0; i < 20; ++i) self.gpu.run(other, 1000);
    OK(cuStreamSynchronize(other));
    expect_idle(1, "a rank whose peer is paused does not spin");
    std::fprintf(stderr, "waits\n");
  }
  OK(cuStreamSynchronize(stream));
  self.check(data, 4, "the sum of the sums");
}

// Rank 1 is killed before its part. Rank 0 waits without using its device, until it aborts the communicator.
CASE("killed") {
  const Rank self(arguments[0]);
  const CUstream stream = self.gpu.stream();
  const Floats data(kCount);
  self.fill(stream, data, 1);
  OK(cuStreamSynchronize(stream));
  if (self.rank == 1) {
    wait_for_file(arguments[0] + ".launched");
    raise(SIGKILL);
  }
  all_reduce(self, data, stream);
  std::fclose(std::fopen((arguments[0] + ".launched").c_str(), "w"));
  expect_idle(0, "a rank whose peer has died does not spin");
  EXPECT(!done(stream), "the collective has not ended");
  NCCL(ncclCommAbort(self.comm));
  OK(cuStreamSynchronize(stream));
  self.check(data, 1, "the data of a collective without a result");
  report("{\"checked\": %u}", self.checked);
  std::_Exit(0);  // the communicator has gone
}

// Rank 0 is killed. The others have a communicator without it.
CASE("survivors") {
  const Rank self(arguments[0]);
  const CUstream stream = self.gpu.stream();
  const Floats data(kCount);
  ncclComm_t part = nullptr;
  NCCL(ncclCommSplit(self.comm, self.rank == 0 ? 0 : 1, self.rank, &part, nullptr));
  self.fill(stream, data, 1);
  all_reduce(self, data, stream);
  OK(cuStreamSynchronize(stream));
  std::fprintf(stderr, "ready\n");
  if (self.rank == 0) raise(SIGKILL);
  wait_for_file(arguments[0] + ".gone");
  for (int i = 0; i < 3; ++i) NCCL(ncclAllReduce(data.from(), data.from(), kCount, ncclFloat32, ncclSum, part, stream));
  OK(cuStreamSynchronize(stream));
  self.check(data, 24, "the sum");
  NCCL(ncclCommDestroy(part));
}

// Rank 1 launches its part when the test says so.
CASE("late") {
  const Rank self(arguments[0]);
  const CUstream stream = self.gpu.stream();
  const Floats data(kCount);
  self.fill(stream, data, 1);
  if (self.rank == 1) wait_for_file(arguments[0] + ".late");
  all_reduce(self, data, stream);
  OK(cuStreamSynchronize(stream));
  self.check(data, 2, "the sum");
}

// As CuPy does: the functions are looked up in the library. Without a wrapper the second launch would be refused.
CASE("opened") {
  const Rank self(arguments[0]);
  const CUstream stream = self.gpu.stream();
  const Floats data(kCount);
  void* nccl = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
  const auto reduce = reinterpret_cast<decltype(&ncclAllReduce)>(dlsym(nccl, "ncclAllReduce"));
  EXPECT(reduce != nullptr, "the library is there");
  self.fill(stream, data, 1);
  for (int i = 0; i < 4; ++i) NCCL(reduce(data.from(), data.from(), kCount, ncclFloat32, ncclSum, self.comm, stream));
  OK(cuStreamSynchronize(stream));
  self.check(data, 16, "the sum");
}

// Each rank launches two collectives on two streams, in different order. Without NCCL's own order they end in any.
CASE("different-order") {
  const Rank self(arguments[0]);
  const CUstream first = self.gpu.stream(), second = self.gpu.stream();
  ncclComm_t other = nullptr;
  NCCL(ncclCommSplit(self.comm, 0, self.rank, &other, nullptr));
  const Floats a(kCount), b(kCount);
  const auto reduce_a = [&] { all_reduce(self, a, first); };
  const auto reduce_b = [&] { NCCL(ncclAllReduce(b.from(), b.from(), kCount, ncclFloat32, ncclSum, other, second)); };
  self.fill(first, a, 1);
  self.fill(second, b, 2);
  for (int i = 0; i < 3; ++i) {
    if (self.rank == 0) reduce_a(), reduce_b();
    else reduce_b(), reduce_a();
  }
  OK(cuCtxSynchronize());
  self.check(a, 8, "the first sum");
  self.check(b, 16, "the second sum");
  NCCL(ncclCommDestroy(other));
}

int main(int count, char** words) { return run_case(count, words); }
