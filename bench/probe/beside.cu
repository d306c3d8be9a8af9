// A kernel on the SMs beside others: how much bandwidth a number of SMs draw, where blocks go, whom a block that does
// not fit holds up, and what two processes get of each other under MPS. Rows of JSON on stdout.
//   beside draw     bandwidth and arithmetic by SMs in use; `draw partition`: of those that MPS leaves
//   beside place    on how many SMs blocks are put; needs MPS: who begins when
//   beside share    two processes that launch without pause; needs MPS
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "beside.h"

namespace {

double now_us() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}
void nap_us(double us) { usleep(static_cast<useconds_t>(us)); }

struct Shape {
  const char* name;
  int threads, shared, blocks;  // bytes of shared memory of a block
  double wave_us;
  bool reads;  // of memory, else multiply-adds
};

struct Spot {
  unsigned long long begin_ns, end_ns;
};

enum Act { kLeave, kSpot, kAlone, kLoop };

struct Order {
  Act act;
  Shape shape;
  double seconds;
};

// One client; the parent makes no CUDA call.
struct Slot {
  std::atomic<int> asked, done;
  Order order;
  double begin_us, end_us;  // of a spot, on the GPU
  double per_s;             // of a loop
};

struct Shared {
  Slot slot[4];
};

__global__ void __launch_bounds__(kThreads) spot(unsigned long long ns, Spot* out, unsigned char* where) {
  const uint64_t begin = now_ns();
  if (threadIdx.x == 0) {
    atomicMin(&out->begin_ns, static_cast<unsigned long long>(begin));
    if (where) where[blockIdx.x] = static_cast<unsigned char>(sm_id());
  }
  while (now_ns() - begin < ns) __nanosleep(500);
  __syncthreads();
  if (threadIdx.x == 0) atomicMax(&out->end_ns, static_cast<unsigned long long>(now_ns()));
}

__global__ void __launch_bounds__(kThreads) burn(int iterations, float* out) {
  const float x = multiply_adds(iterations, static_cast<float>(threadIdx.x));
  if (x < 0) *out = x;
}

__global__ void __launch_bounds__(kThreads) touch(int iterations, const uint4* in, uint4* out, size_t mask, size_t from) {
  size_t word = from + (static_cast<size_t>(blockIdx.x) * iterations) * blockDim.x + threadIdx.x;
  unsigned seen = 0;
  for (int i = 0; i < iterations; ++i, word += blockDim.x) seen ^= __ldcg(in + (word & mask)).x;
  if (seen == 0x12345678) out[0].x = seen;
}

class Client {
 public:
  explicit Client(Slot& slot) : slot_(slot) {
    CUDA(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
    CUDA(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, 0));
    CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&in_, kBytes));
    CUDA(cudaMalloc(&spot_, sizeof(Spot)));
    CUDA(cudaMemset(in_, 1, kBytes));
    for (auto& event : events_) CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    const int most = shared_for(1);
    CUDA(cudaFuncSetAttribute(spot, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    CUDA(cudaFuncSetAttribute(burn, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    CUDA(cudaFuncSetAttribute(touch, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    CUDA(cudaDeviceSynchronize());
  }

  void serve() {
    for (int n = 1;; ++n) {
      while (slot_.asked.load(std::memory_order_acquire) < n) sched_yield();
      const Order& order = slot_.order;
      if (order.act == kLeave) break;
      if (order.act == kSpot) spend(order.shape);
      if (order.act == kAlone) prepare(order.shape);
      if (order.act == kLoop) loop(order.seconds);
      slot_.done.store(n, std::memory_order_release);
    }
  }

 private:
  static constexpr size_t kBytes = size_t{2} << 30;
  static constexpr int kDepth = 16;

  void spend(const Shape& shape) {
    Spot seen{~0ull, 0};
    CUDA(cudaMemcpyAsync(spot_, &seen, sizeof seen, cudaMemcpyHostToDevice, stream_));
    spot<<<shape.blocks, shape.threads, shape.shared, stream_>>>(static_cast<unsigned long long>(shape.wave_us * 1e3), spot_, nullptr);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpyAsync(&seen, spot_, sizeof seen, cudaMemcpyDeviceToHost, stream_));
    CUDA(cudaStreamSynchronize(stream_));
    slot_.begin_us = static_cast<double>(seen.begin_ns) / 1e3;
    slot_.end_us = static_cast<double>(seen.end_ns) / 1e3;
  }

  void launch(int blocks, int iterations) {
    if (shape_.reads) {
      touch<<<blocks, shape_.threads, shape_.shared, stream_>>>(iterations, static_cast<uint4*>(in_), static_cast<uint4*>(in_),
                                                                 kBytes / sizeof(uint4) - 1, from_);
      from_ = (from_ + static_cast<size_t>(blocks) * iterations * shape_.threads) & (kBytes / sizeof(uint4) - 1);
    } else {
      burn<<<blocks, shape_.threads, shape_.shared, stream_>>>(iterations, static_cast<float*>(in_));
    }
    CUDA(cudaGetLastError());
  }

  double us_of(int blocks, int iterations) {
    constexpr int kTimes = 20;
    launch(blocks, iterations);
    CUDA(cudaStreamSynchronize(stream_));
    const double begin = now_us();
    for (int i = 0; i < kTimes; ++i) launch(blocks, iterations);
    CUDA(cudaStreamSynchronize(stream_));
    return (now_us() - begin) / kTimes;
  }

  // Iterations by which one full wave takes what the shape says.
  void prepare(const Shape& shape) {
    shape_ = shape;
    int per_sm = 0;
    if (shape.reads) CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, touch, shape.threads, shape.shared));
    else CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, burn, shape.threads, shape.shared));
    const int wave = sms_ * per_sm;
    const int few = shape.reads ? 4 : 20, many = 5 * few;
    const double each = (us_of(wave, many) - us_of(wave, few)) / (many - few);
    const double fixed = us_of(wave, few) - few * each;
    iterations_ = std::max(1, static_cast<int>((shape.wave_us - std::max(0.0, fixed)) / std::max(each, 1e-4)));
    slot_.per_s = 0;
  }

  void loop(double seconds) {
    const double lead = 0.03e6, begin = now_us();
    double from = 0;
    int launched = 0, counted = 0;
    for (;; ++launched) {
      if (launched >= kDepth) CUDA(cudaEventSynchronize(events_[launched % kDepth]));
      const double now = now_us();
      if (now - begin > lead && from == 0) from = now, counted = launched;
      if (now - begin > lead + seconds * 1e6 || (from > 0 && now - from > seconds * 1e6)) {
        slot_.per_s = from > 0 ? (launched - counted) / (now - from) * 1e6 : 0;
        break;
      }
      launch(shape_.blocks, iterations_);
      CUDA(cudaEventRecord(events_[launched % kDepth], stream_));
    }
    CUDA(cudaStreamSynchronize(stream_));
  }

  Slot& slot_;
  int sms_ = 0, iterations_ = 1;
  Shape shape_{};
  size_t from_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t events_[kDepth] = {};
  void* in_ = nullptr;
  Spot* spot_ = nullptr;
};

// Clients 0 and 1 have MPS's lower priority, 2 and 3 its higher one.
class Clients {
 public:
  Clients() {
    shared_ = static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    memset(static_cast<void*>(shared_), 0, sizeof(Shared));
    for (int i = 0; i < 4; ++i) {
      if ((pids_[i] = fork()) != 0) continue;
      setenv("CUDA_MPS_CLIENT_PRIORITY", i < 2 ? "1" : "0", 1);
      Client client(shared_->slot[i]);
      client.serve();
      _exit(0);
    }
  }
  ~Clients() {
    for (int i = 0; i < 4; ++i) tell(i, Order{kLeave, {}, 0});
    for (const pid_t pid : pids_) waitpid(pid, nullptr, 0);
  }

  void tell(int i, const Order& order) {
    shared_->slot[i].order = order;
    shared_->slot[i].asked.fetch_add(1, std::memory_order_release);
  }
  const Slot& await(int i) {
    Slot& slot = shared_->slot[i];
    const double until = now_us() + 5e6;
    while (slot.done.load(std::memory_order_acquire) < slot.asked.load(std::memory_order_relaxed)) {
      nap_us(50);
      if (now_us() > until) {
        fprintf(stderr, "client %d does not answer\n", i);
        for (const pid_t pid : pids_) kill(pid, SIGKILL);
        _exit(1);
      }
    }
    return slot;
  }

 private:
  Shared* shared_ = nullptr;
  pid_t pids_[4] = {};
};

const char* priority(int client) { return client < 2 ? "low" : "high"; }

constexpr int kKiB = 1024;
constexpr int kWhole = 200 * kKiB, kHalf = 112 * kKiB, kQuarter = 55 * kKiB;  // one, two, four blocks an SM

// A keeps part of every SM for 3 ms; B, which does not fit beside it, comes 0.5 ms later, C, which does, 0.5 ms after that.
void who_begins(Clients& clients) {
  const Shape a{"a", 256, kHalf, 132, 3000, false}, b{"b", 256, kWhole, 132, 50, false}, c{"c", 256, kQuarter, 132, 50, false};
  const int cases[][3] = {{0, 1, 2}, {0, 2, 1}, {2, 0, 1}, {2, 3, 0}, {2, 0, 3}};
  for (const auto& who : cases) {
    std::vector<double> from_a_to_b, from_a_to_c, from_a_to_end;
    for (int i = 0; i < 5; ++i) {
      clients.tell(who[0], Order{kSpot, a, 0});
      nap_us(450);
      clients.tell(who[1], Order{kSpot, b, 0});
      nap_us(450);
      clients.tell(who[2], Order{kSpot, c, 0});
      const double begin = clients.await(who[0]).begin_us, end = clients.await(who[0]).end_us;
      from_a_to_b.push_back(clients.await(who[1]).begin_us - begin);
      from_a_to_c.push_back(clients.await(who[2]).begin_us - begin);
      from_a_to_end.push_back(end - begin);
    }
    printf("{\"a\": \"%s\", \"b\": \"%s\", \"c\": \"%s\", \"b_begins_us\": %.0f, \"c_begins_us\": %.0f, \"a_ends_us\": %.0f}\n", priority(who[0]),
           priority(who[1]), priority(who[2]), median(from_a_to_b), median(from_a_to_c), median(from_a_to_end));
  }
}

// A block of A on every SM; 0.5 ms later comes C. Has an SM room for its shared memory, whatever it was divided for?
void what_fits(Clients& clients) {
  const int pairs[][2] = {{0, 0}, {0, 8}, {0, 40}, {0, 100}, {0, 200}, {8, 8}, {8, 100}, {16, 50}, {50, 100}, {100, 100}, {100, 16}, {200, 0}, {200, 8}};
  for (const auto& kib : pairs) {
    const Shape a{"a", 256, kib[0] * kKiB, 132, 2000, false}, c{"c", 256, kib[1] * kKiB, 132, 50, false};
    std::vector<double> from_a_to_c, from_a_to_end;
    for (int i = 0; i < 3; ++i) {
      clients.tell(0, Order{kSpot, a, 0});
      nap_us(450);
      clients.tell(1, Order{kSpot, c, 0});
      const double begin = clients.await(0).begin_us, end = clients.await(0).end_us;
      from_a_to_c.push_back(clients.await(1).begin_us - begin);
      from_a_to_end.push_back(end - begin);
    }
    printf("{\"a_shared_kib\": %d, \"c_shared_kib\": %d, \"c_begins_us\": %.0f, \"a_ends_us\": %.0f}\n", kib[0], kib[1], median(from_a_to_c),
           median(from_a_to_end));
    fflush(stdout);
  }
}

// Blocks of a quarter of an SM each, from one process: on how many SMs, how many on the fullest?
void where_blocks_go() {
  Spot* out = nullptr;
  unsigned char* where = nullptr;
  CUDA(cudaMalloc(&out, sizeof *out));
  CUDA(cudaMalloc(&where, 4096));
  CUDA(cudaFuncSetAttribute(spot, cudaFuncAttributeMaxDynamicSharedMemorySize, kQuarter));
  for (const int blocks : {32, 66, 96, 132, 192, 264, 384, 528}) {
    spot<<<blocks, 256, kQuarter>>>(500'000, out, where);
    CUDA(cudaGetLastError());
    std::vector<unsigned char> ids(blocks);
    CUDA(cudaMemcpy(ids.data(), where, blocks, cudaMemcpyDeviceToHost));
    int on[256] = {};
    for (const unsigned char id : ids) on[id]++;
    printf("{\"quarters_of_sms\": %d, \"on_sms\": %d, \"fullest\": %d}\n", blocks, static_cast<int>(256 - std::count(on, on + 256, 0)),
           *std::max_element(on, on + 256));
  }
}

void place() {
  {
    Clients clients;
    who_begins(clients);
    what_fits(clients);
  }
  where_blocks_go();
}

void share() {
  const Shape firsts[] = {
      {"whole SMs, 132 blocks", 1024, kWhole, 132, 100, false}, {"whole SMs, 192 blocks", 1024, kWhole, 192, 100, false},
      {"whole SMs, 96 blocks", 1024, kWhole, 96, 100, false},   {"quarters, 528 blocks", 256, kQuarter, 528, 100, false},
      {"quarters, 768 blocks", 256, kQuarter, 768, 100, false}, {"quarters, 384 blocks", 256, kQuarter, 384, 100, false}};
  const Shape seconds[] = {{"small blocks, 1 wave", 128, 0, 2112, 20, false},
                           {"whole SMs, 1 wave", 1024, kWhole, 132, 20, false},
                           {"small blocks, 1/8 of a wave", 128, 0, 264, 20, false},
                           {"memory, small blocks", 128, 0, 8448, 10, true},
                           {"small blocks, 8 waves", 128, 0, 16896, 20, false}};
  constexpr double kSeconds = 0.12;
  Clients clients;
  const auto alone = [&](int client, const Shape& shape) {
    clients.tell(client, Order{kAlone, shape, 0});
    clients.await(client);
    clients.tell(client, Order{kLoop, shape, kSeconds / 2});
    return clients.await(client).per_s;
  };
  for (const Shape& first : firsts) {
    double first_alone[2] = {alone(0, first), alone(2, first)};
    for (const Shape& second : seconds) {
      const double second_alone = alone(1, second);
      for (const int client : {0, 2}) {
        clients.tell(client, Order{kLoop, first, kSeconds});
        clients.tell(1, Order{kLoop, second, kSeconds});
        const double one = clients.await(client).per_s, other = clients.await(1).per_s;
        printf("{\"first\": \"%s\", \"second\": \"%s\", \"priority_of_first\": \"%s\", \"first_alone_us\": %.1f, \"second_alone_us\": %.1f, "
               "\"first_kept\": %.3f, \"second_kept\": %.3f}\n",
               first.name, second.name, priority(client), 1e6 / first_alone[client / 2], 1e6 / second_alone, one / first_alone[client / 2],
               other / second_alone);
        fflush(stdout);
      }
    }
  }
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count >= 2 ? words[1] : "";
  if (what == "draw") draw_all(count == 3);
  else if (what == "place") place();
  else if (what == "share") share();
  else return fprintf(stderr, "beside draw|place|share\n"), 2;
  return 0;
}
