// Measures the price that a high client pays for stopped work, by where that work waits: bursts of kernels concurrent with a
// context in another process that was told to stop 1 ms before each, or at its beginning, and waits in its stream, or
// in a node of its graph. No interposer, no agent; isolated mode. One JSON line each:
//
// parked [ROUNDS]
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <new>

#include "../../test/interposer/harness.h"

using namespace harness;

namespace {

// As much arithmetic as it is told, whoever else has the GPU. (The software GPU takes the number for nanoseconds.)
constexpr const char* kBurn = R"(
.version 7.8
.target sm_70
.address_size 64
//! soft ns=p0
.visible .entry burn(.param .u64 iterations, .param .u64 never)
{
  .reg .pred %p;
  .reg .f32 %v;
  .reg .b64 %left, %at;
  ld.param.u64 %left, [iterations];
  ld.param.u64 %at, [never];
  mov.f32 %v, 0f3F800000;
AGAIN:
  fma.rn.f32 %v, %v, 0f3F7FBE77, 0f3A83126F;
  sub.u64 %left, %left, 1;
  setp.ne.u64 %p, %left, 0;
  @%p bra AGAIN;
  setp.ge.f32 %p, %v, 0f00000000;
  @%p ret;
  st.global.f32 [%at], %v;
  ret;
}
)";

constexpr unsigned kBlocks = 132 * 4;
constexpr unsigned kThreads = 256;
constexpr unsigned kHighKernels = 25;  // of 100 us
constexpr unsigned kBursts = 60;
constexpr unsigned kBetweenUs = 6'000;
constexpr unsigned kNodes = 25;  // of 200 us

std::uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

struct Client {
  CUcontext context = nullptr;
  CUfunction burn = nullptr;
  CUstream stream = nullptr;
  double per_us = 1000;  // iterations

  Client() {
    CUmodule module = nullptr;
    OK(cuda().cuInit(0));
    OK(cuda().cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuda().cuCtxSetCurrent(context));
    OK(cuda().cuModuleLoadData(&module, kBurn));
    OK(cuda().cuModuleGetFunction(&burn, module, "burn"));
    stream = make_stream();
    for (int i = 0; i < 3; ++i) calibrate();
  }
  void calibrate() {
    CUevent start = make_event(), end = make_event();
    OK(cuda().cuEventRecord(start, stream));
    run(1000);
    OK(cuda().cuEventRecord(end, stream));
    OK(cuda().cuStreamSynchronize(stream));
    float ms = 0;
    OK(cuda().cuEventElapsedTime(&ms, start, end));
    per_us = per_us * 1000 / std::max(static_cast<double>(ms) * 1000, 1.0);
  }
  void run(double us) const;
};

struct Burn {
  std::uint64_t iterations;
  CUdeviceptr never = 0;
  void* parameters[2] = {&iterations, &never};
  Burn(const Client& client, double us) : iterations(static_cast<std::uint64_t>(us * client.per_us) + 1) {}
};

void Client::run(double us) const {
  Burn of(*this, us);
  OK(cuda().cuLaunchKernel(burn, kBlocks, 1, 1, kThreads, 1, 1, 0, stream, of.parameters, nullptr));
}

// Write a word; wait until the word at `hold` is 0.
struct Words {
  CUstreamBatchMemOpParams of[2] = {};
  explicit Words(CUdeviceptr hold) {
    of[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    of[0].writeValue.address = hold + 4;
    of[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    of[1].waitValue.address = hold;
    of[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  }
};

enum Way : int { kNobody, kIdle, kStream, kParts, kNode, kWaitNode, kWhole, kLeave };
constexpr const char* kWhat[] = {"",
                                 "nothing",
                                 "kernels, waits in the stream between",
                                 "graphs of two kernels, waits in the stream between",
                                 "graphs with nodes {write, wait}",
                                 "graphs with nodes {wait}",
                                 "graphs that do not stop"};

// Between the two processes; the other one's GPU waits while `hold` is 1.
struct Board {
  std::atomic<unsigned> hold{0};
  std::atomic<unsigned> written{0};
  std::atomic<int> wanted{kNobody};
  std::atomic<int> reached{kNobody};
};

// The other process: runs what the board says, some 10 ms ahead, until it says something else.
class Other {
 public:
  explicit Other(Board& board) : board_(board) {
    OK(cuda().cuMemHostRegister_v2(&board, 4096, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE));
    OK(cuda().cuMemHostGetDevicePointer_v2(&hold_, &board, 0));
    part_ = graph(2, 100, 0);
    node_ = graph(kNodes, 200, 2);
    wait_node_ = graph(kNodes, 200, 1);
    whole_ = graph(kNodes, 200, 0);
    for (CUgraphExec exec : {part_, node_, wait_node_, whole_}) OK(cuda().cuGraphLaunch(exec, client_.stream));
    OK(cuda().cuStreamSynchronize(client_.stream));
  }

  void serve() {
    CUevent done[2] = {make_event(), make_event()};
    for (unsigned turn = 0; board_.wanted != kLeave; ++turn) {
      const int way = board_.wanted;
      if (way != board_.reached) OK(cuda().cuStreamSynchronize(client_.stream));
      submit(way);
      OK(cuda().cuEventRecord(done[turn % 2], client_.stream));
      OK(cuda().cuEventSynchronize(done[(turn + 1) % 2]));  // of the turn before
      board_.reached = way;
      if (way == kIdle || way == kNobody) sleep_ms(1);
    }
  }

 private:
  // A chain, with a gate of two words {write, wait} or one {wait} before each node but the first.
  CUgraphExec graph(unsigned nodes, unsigned us, unsigned words) {
    CUgraph made = nullptr;
    CUgraphExec exec = nullptr;
    CUgraphNode last = nullptr, next = nullptr;
    OK(cuda().cuGraphCreate(&made, 0));
    for (unsigned i = 0; i < nodes; ++i) {
      if (words > 0 && i > 0) {
        Words operations(hold_);
        const CUDA_BATCH_MEM_OP_NODE_PARAMS gate{client_.context, words, operations.of + 2 - words, 0};
        OK(cuda().cuGraphAddBatchMemOpNode(&next, made, &last, 1, &gate));
        last = next;
      }
      Burn burn(client_, us);
      const CUDA_KERNEL_NODE_PARAMS_v2 kernel{client_.burn,    kBlocks, 1,       1,      kThreads, 1, 1, 0,
                                              burn.parameters, nullptr, nullptr, nullptr};
      OK(cuda().cuGraphAddKernelNode_v2(&next, made, last ? &last : nullptr, last ? 1 : 0, &kernel));
      last = next;
    }
    OK(cuda().cuGraphInstantiateWithFlags(&exec, made, 0));
    return exec;
  }
  // Some 5 ms.
  void submit(int way) {
    for (unsigned i = 0; (way == kStream || way == kParts) && i < kNodes; ++i) {
      Words operations(hold_);
      OK(cuda().cuStreamBatchMemOp_v2(client_.stream, 2, operations.of, 0));
      if (way == kParts) OK(cuda().cuGraphLaunch(part_, client_.stream));
      else client_.run(200);
    }
    if (way == kNode) OK(cuda().cuGraphLaunch(node_, client_.stream));
    if (way == kWaitNode) OK(cuda().cuGraphLaunch(wait_node_, client_.stream));
    if (way == kWhole) OK(cuda().cuGraphLaunch(whole_, client_.stream));
  }

  Board& board_;
  Client client_;
  CUdeviceptr hold_{0};
  CUgraphExec part_{nullptr}, node_{nullptr}, wait_node_{nullptr}, whole_{nullptr};
};

double quantile(std::vector<double> of, double q) {
  std::sort(of.begin(), of.end());
  return of[static_cast<std::size_t>(q * static_cast<double>(of.size() - 1) + 0.5)];
}

// Bursts of the high client, in us from the first launch to the end; the other one is told `ahead_us` before each.
void bursts(const Client& high, Board& board, unsigned ahead_us, std::vector<double>& into) {
  for (unsigned i = 0; i < kBursts; ++i) {
    const std::uint64_t told = now_ns();
    board.hold = 1;
    while (now_ns() - told < std::uint64_t{ahead_us} * 1000) {
    }
    const std::uint64_t began = now_ns();
    for (unsigned k = 0; k < kHighKernels; ++k) high.run(100);
    OK(cuda().cuStreamSynchronize(high.stream));
    into.push_back(static_cast<double>(now_ns() - began) / 1000);
    board.hold = 0;
    usleep(kBetweenUs + i % 7 * 150);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 2;
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) fail("no shared page");
  auto& board = *new (page) Board;
  const pid_t other = fork();  // before either uses the driver
  if (other == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Other(board).serve();
    _exit(0);
  }
  const Client high;
  constexpr unsigned kAheadUs[] = {1000, 0};
  std::vector<double> us[2][kLeave];
  for (int round = 0; round < rounds; ++round)
    for (int way = kIdle; way < kLeave; ++way) {
      board.wanted = way;
      eventually([&] { return board.reached == way || waitpid(other, nullptr, WNOHANG) != 0; }, kWhat[way]);
      expect(board.reached == way, "the other process lives");
      for (int ahead = 0; ahead < 2; ++ahead) bursts(high, board, kAheadUs[ahead], us[ahead][way]);
    }
  board.wanted = kLeave;
  for (int way = kIdle; way < kLeave; ++way)
    for (int ahead = 0; ahead < 2; ++ahead) {
      const std::vector<double>& of = us[ahead][way];
      std::printf(
          R"({"beside":"%s","toldUsBefore":%u,"bursts":%zu,"burstUs":{"p10":%.1f,"p50":%.1f,"p90":%.1f,"p99":%.1f},)"
          R"("p50ToNothing":%.3f,"p99ToNothing":%.3f})"
          "\n",
          kWhat[way], kAheadUs[ahead], of.size(), quantile(of, 0.1), quantile(of, 0.5), quantile(of, 0.9),
          quantile(of, 0.99), quantile(of, 0.5) / quantile(us[ahead][kIdle], 0.5),
          quantile(of, 0.99) / quantile(us[ahead][kIdle], 0.99));
    }
  std::fflush(stdout);
  _exit(0);
}
