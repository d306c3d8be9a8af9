// How much so many SMs draw: from DRAM, from the L2, and of multiply-adds.
#include "beside.h"

namespace {

constexpr size_t kFarBytes = size_t{4} << 30;  // far more than the L2 holds
constexpr size_t kNearBytes = size_t{8} << 20;

struct Gather {
  unsigned arrived, chosen, late;
};

// All blocks are on the GPU before any begins; those on other SMs than the chosen ones leave then. Returns the
// block's number among the chosen, or -1.
__device__ int gather(Gather* at, int sms, int total, bool spread) {
  __shared__ int mine;
  if (threadIdx.x == 0) {
    atomicAdd(&at->arrived, 1);
    const uint64_t begin = now_ns();
    while (atomicAdd(&at->arrived, 0) < gridDim.x)
      if (now_ns() - begin > 20'000'000) {
        atomicAdd(&at->late, 1);
        break;
      }
    const int id = static_cast<int>(sm_id());
    const bool chosen = spread ? id * sms % total < sms : id < sms;
    mine = chosen ? static_cast<int>(atomicAdd(&at->chosen, 1)) : -1;
  }
  __syncthreads();
  return mine;
}

// `K` loads of 16 bytes a thread are under way at once.
template <int K, bool kCopies>
__global__ void __launch_bounds__(kThreads) draw(const uint4* in, uint4* out, size_t from, size_t mask, int rounds, Gather* at,
                                                 int sms, int total, bool spread) {
  const int block = gather(at, sms, total, spread);
  if (block < 0) return;
  size_t word = from + static_cast<size_t>(block) * rounds * K * kThreads + threadIdx.x;
  unsigned seen = 0;
  for (int i = 0; i < rounds; ++i, word += K * kThreads) {
    uint4 value[K];
#pragma unroll
    for (int k = 0; k < K; ++k) value[k] = __ldcg(in + ((word + k * kThreads) & mask));
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (kCopies) __stcg(out + ((word + k * kThreads) & mask), value[k]);
      else seen ^= value[k].x ^ value[k].y ^ value[k].z ^ value[k].w;
    }
  }
  if (!kCopies && seen == 0x12345678) out[0].x = seen;
}

__global__ void __launch_bounds__(kThreads) compute(int iterations, float* out, Gather* at, int sms, int total, bool spread) {
  if (gather(at, sms, total, spread) < 0) return;
  const float x = multiply_adds(iterations, static_cast<float>(threadIdx.x));
  if (x < 0) *out = x;
}

struct Board {
  int sms;
  void *in, *out;
  Gather* gather;
  cudaEvent_t begin, end;
};

Board open_board() {
  Board board{};
  CUDA(cudaDeviceGetAttribute(&board.sms, cudaDevAttrMultiProcessorCount, 0));
  CUDA(cudaMalloc(&board.in, kFarBytes));
  CUDA(cudaMalloc(&board.out, kFarBytes));
  CUDA(cudaMalloc(&board.gather, sizeof(Gather)));
  CUDA(cudaMemset(board.in, 1, kFarBytes));
  CUDA(cudaMemset(board.out, 2, kFarBytes));
  CUDA(cudaEventCreate(&board.begin));
  CUDA(cudaEventCreate(&board.end));
  return board;
}

// Duration of `launch` in seconds: the median of three, each on fresh memory.
template <typename Launch>
double seconds_of(const Board& board, const Launch& launch) {
  std::vector<double> all;
  for (int i = 0; i < 4; ++i) {
    CUDA(cudaMemset(board.gather, 0, sizeof(Gather)));
    CUDA(cudaEventRecord(board.begin));
    launch(i);
    CUDA(cudaGetLastError());
    CUDA(cudaEventRecord(board.end));
    CUDA(cudaEventSynchronize(board.end));
    float ms = 0;
    CUDA(cudaEventElapsedTime(&ms, board.begin, board.end));
    if (i > 0) all.push_back(ms / 1e3);
  }
  Gather seen{};
  CUDA(cudaMemcpy(&seen, board.gather, sizeof seen, cudaMemcpyDeviceToHost));
  return seen.late > 0 ? 0 : median(all);
}

// One row: what so many SMs draw. Under a partition of MPS there are only those that it leaves.
template <int K, bool kCopies>
void draw_row(const Board& board, const char* what, int per_sm, bool near, bool spread, const std::vector<int>& counts) {
  auto* kernel = draw<K, kCopies>;
  const int shared = shared_for(per_sm);
  CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  const size_t words = (near ? kNearBytes : kFarBytes) / sizeof(uint4);
  const size_t block_bytes = (near ? size_t{64} << 20 : size_t{24} << 20) / per_sm;
  const int rounds = static_cast<int>(block_bytes / (K * kThreads * sizeof(uint4)));
  printf("{\"what\": \"%s\", \"in_flight_kib_per_sm\": %d, \"spread\": %s, \"sms\": %d, \"gb_per_s_by_sms\": [", what, 16 * K * per_sm,
         spread ? "true" : "false", board.sms);
  size_t from = 0;
  for (const int sms : counts) {
    const size_t bytes = static_cast<size_t>(rounds) * K * kThreads * sizeof(uint4) * sms * per_sm;
    const double s = seconds_of(board, [&](int) {
      kernel<<<board.sms * per_sm, kThreads, shared>>>(static_cast<uint4*>(board.in), static_cast<uint4*>(board.out), from, words - 1, rounds,
                                                       board.gather, sms, board.sms, spread);
      from = (from + bytes / sizeof(uint4)) & (words - 1);
    });
    printf("%s[%d, %.1f]", sms == counts.front() ? "" : ", ", sms, s > 0 ? static_cast<double>(bytes) * (kCopies ? 2 : 1) / s / 1e9 : 0.0);
  }
  printf("]}\n");
  fflush(stdout);
}

void compute_row(const Board& board, const std::vector<int>& counts) {
  const int shared = shared_for(1), iterations = 40000;
  CUDA(cudaFuncSetAttribute(compute, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  printf("{\"what\": \"multiply-adds\", \"sms\": %d, \"gflop_per_s_by_sms\": [", board.sms);
  for (const int sms : counts) {
    const double s = seconds_of(board, [&](int) {
      compute<<<board.sms, kThreads, shared>>>(iterations, static_cast<float*>(board.out), board.gather, sms, board.sms, true);
    });
    printf("%s[%d, %.1f]", sms == counts.front() ? "" : ", ", sms, s > 0 ? 2.0 * 16 * iterations * kThreads * sms / s / 1e9 : 0.0);
  }
  printf("]}\n");
}

}  // namespace

void draw_all(bool partition) {
  const Board board = open_board();
  std::vector<int> counts;
  for (const int n : {1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112})
    if (n < board.sms && !partition) counts.push_back(n);
  counts.push_back(board.sms);
  for (const bool spread : {true, false}) {
    if (partition && !spread) break;
    draw_row<1, false>(board, "read", 1, false, spread, counts);
    draw_row<1, false>(board, "read", 2, false, spread, counts);
    draw_row<4, false>(board, "read", 1, false, spread, counts);
    draw_row<4, false>(board, "read", 2, false, spread, counts);
    draw_row<1, true>(board, "copy", 1, false, spread, counts);
    draw_row<1, true>(board, "copy", 2, false, spread, counts);
    draw_row<4, true>(board, "copy", 2, false, spread, counts);
    draw_row<1, false>(board, "read, from L2", 1, true, spread, counts);
    draw_row<1, false>(board, "read, from L2", 2, true, spread, counts);
    draw_row<4, false>(board, "read, from L2", 2, true, spread, counts);
  }
  compute_row(board, counts);
}
