// The memory that the processes of one probe share: one memfd, mapped by the parent (which makes no CUDA call) and by
// each client. The parent writes a command and bumps `command`; the client copies the number to `reply` when it has
// finished. Times are CLOCK_MONOTONIC in microseconds, the same in every process.
#pragma once
#include <atomic>
#include <cstdint>
#include <ctime>

constexpr int kSlots = 3;    // 0 is the high client, 1 and 2 are best-effort
constexpr int kStreams = 4;  // hold and done words of a client
constexpr int kSamples = 8192;
constexpr int kText = 1 << 18;

inline double now_us() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}
inline void nap_us(double us) {
  const auto ns = static_cast<long>(us * 1e3);
  const timespec t{ns / 1000000000, ns % 1000000000};
  nanosleep(&t, nullptr);
}
inline void spin_until(double at_us) {
  while (now_us() < at_us) __builtin_ia32_pause();
}

enum class Act : uint32_t {
  leave,
  platform,
  request,
  stream,
  gated,
  park,
  open_latency,
  chunk_cost,
  released,
  graph_with_memop,
  queue_depth,
};
enum Kind { kTiny, kPlain, kGraph };  // what a request is made of

struct Order {  // the arguments of an act; each act reads the ones it needs
  Act act = Act::leave;
  Kind kind = kTiny;
  int count = 0;          // requests; or kernels queued behind a parked wait
  int kernels = 0;        // kernels of a request
  double kernel_us = 0;
  int waves = 0;          // 0: chosen from kernel_us
  double gap_lo_us = 0, gap_hi_us = 0;
  double limit_us = 0;    // requests stop after this long
  bool gate = false;      // hold the best-effort clients during a request
  int depth = 0;          // kernels kept queued
  double chunk_us = 0;
  double long_every_us = 0, long_us = 0;  // gated: now and then a long kernel
  int streams = 1;
};

struct Sample {
  double at_us, us;
};

struct Slot {
  std::atomic<uint32_t> ready, command, reply, running, stop;
  std::atomic<uint32_t> nsamples, nresumes;
  std::atomic<uint64_t> work_ns;  // estimated GPU work known to have finished, in the present act
  Order order;
  double active_us;  // request: time with a request in flight
  Sample samples[kSamples], resumes[kSamples];
  char error[400];
  char text[kText];  // what an act that reports JSON by itself leaves
};

struct alignas(64) Word {
  std::atomic<uint32_t> value;
};

struct Calibration {
  int sms;
  double us_per_iteration, fixed_us;  // of one wave of full-GPU burn; of a launch
};

struct Board {
  Calibration calibration;
  Slot slot[kSlots];
  // Registered with the driver, so page-aligned and nothing else in them. A parked stream waits for its
  // pause flag to be 0; the GPU writes done words, kernels write mark words.
  alignas(4096) Word hold[kSlots][kStreams];
  alignas(4096) Word done[kSlots][kStreams];
  Word mark[kSlots][kStreams];
  alignas(4096) char read_only[4096];
};
static_assert(sizeof(Word) * kSlots * kStreams * 2 <= 4096, "done and mark share one page");

inline void open_all(Board& board) {
  for (auto& row : board.hold)
    for (auto& word : row) word.value.store(0, std::memory_order_seq_cst);
}

int run_client(int board_fd, int slot);
