#include "client.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>

namespace {
constexpr size_t kWordsBytes = 8192;  // the control page, then the page of done and mark words
constexpr unsigned kWatchdogSeconds = 40;
constexpr unsigned kThreads = 256, kBlocksPerSm = 8;  // 2,048 threads: nothing fits beside a wave

double uniform(std::mt19937& random, double lo, double hi) {
  return std::uniform_real_distribution<double>(lo, hi)(random);
}
}  // namespace

Client::Client(Board& board, int index)
    : board_(board),
      slot_(board.slot[index]),
      index_(index),
      random_(static_cast<unsigned>(20 + index)),
      shared_(reinterpret_cast<const char*>(&board.hold)) {
  cu.load();
  CU(cuInit(0));
  CU(cuDeviceGet(&device_, 0));
  CU(cuDevicePrimaryCtxSetFlags(device_, CU_CTX_SCHED_SPIN));
  CU(cuDevicePrimaryCtxRetain(&context_, device_));
  CU(cuCtxSetCurrent(context_));
  CUmodule module = nullptr;
  CU(cuModuleLoadData(&module, kPtx));
  CU(cuModuleGetFunction(&burn_, module, "burn"));
  CU(cuModuleGetFunction(&tiny_, module, "tiny"));
  CU(cuModuleGetFunction(&spin_, module, "spin_ns"));
  CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  CU(cuMemAlloc(&ticket_, 4096));
  CU(cuMemsetD8(ticket_, 0, 4096));
  register_words();
  clear_words();
  // First launches set things up that would deadlock behind a parked stream: get them over with.
  launch(stream_, Burn{1, 1, 1}, 0, 1);
  tiny(stream_);
  CUstreamBatchMemOpParams ops[2];
  fill_boundary(ops, 1, 0);
  memops_ = cu.cuStreamBatchMemOp(stream_, 2, ops, 0);  // refused: only what needs it fails
  settle(stream_);
  clear_words();
}

Client::~Client() {
  leaving_ = true;
  if (mirror_.joinable()) mirror_.join();
  cu.cuDevicePrimaryCtxRelease(device_);
}

void Client::register_words() {
  auto* const start = const_cast<char*>(shared_);
  registered_ = cu.cuMemHostRegister(start, kWordsBytes, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE);
  if (registered_ == CUDA_SUCCESS) {
    CU(cuMemHostGetDevicePointer(&words_, start, 0));
    return;
  }
  void* pinned = nullptr;
  CU(cuMemHostAlloc(&pinned, kWordsBytes, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
  memset(pinned, 0, kWordsBytes);
  pinned_ = static_cast<char*>(pinned);
  CU(cuMemHostGetDevicePointer(&words_, pinned, 0));
  mirror_ = std::thread([this] { mirror_words(); });
}

void Client::mirror_words() {
  const auto twin = [this](std::atomic<uint32_t>& word) {
    return reinterpret_cast<std::atomic<uint32_t>*>(pinned_ + (reinterpret_cast<char*>(&word) - shared_));
  };
  while (!leaving_) {
    for (int word = 0; word < kStreams; ++word) {
      twin(hold(word))->store(hold(word).load());
      done(word).store(twin(done(word))->load());
      mark(word).store(twin(mark(word))->load());
    }
  }
}

void Client::clear_words() {
  for (int word = 0; word < kStreams; ++word) {
    for (auto* cell : {&hold(word), &done(word), &mark(word)}) {
      if (pinned_) {
        reinterpret_cast<std::atomic<uint32_t>*>(pinned_ + (reinterpret_cast<char*>(cell) - shared_))->store(0);
      }
      cell->store(0);
    }
  }
}

void Client::tell(const Json& json) { snprintf(slot_.text, sizeof slot_.text, "%s", json.text().c_str()); }

// Long kernels have many waves, as real ones do: under MPS a request's blocks get in between waves.
Burn Client::burn(double us, int waves) const {
  const Calibration& c = board_.calibration;
  if (c.us_per_iteration <= 0) throw CudaError("kernels are not calibrated");
  if (waves == 0) waves = std::clamp(static_cast<int>(us / 50 + .5), 1, 16);
  const double wave_us = std::max(us - c.fixed_us, 0.0) / waves;
  const auto iterations = static_cast<unsigned>(std::max(1.0, wave_us / c.us_per_iteration));
  return {iterations, static_cast<unsigned>(c.sms) * kBlocksPerSm * static_cast<unsigned>(waves), us};
}

void Client::launch(CUstream s, const Burn& kernel, int mark_word, uint32_t value) {
  unsigned iterations = kernel.iterations;
  CUdeviceptr ticket = mark_word < 0 ? 0 : ticket_;
  CUdeviceptr at = mark_word < 0 ? 0 : on_gpu(mark(mark_word));
  void* args[] = {&iterations, &ticket, &at, &value};
  CU(cuLaunchKernel(burn_, kernel.grid, 1, 1, kThreads, 1, 1, 0, s, args, nullptr));
}

void Client::tiny(CUstream s, int mark_word, uint32_t value) {
  CUdeviceptr at = mark_word < 0 ? 0 : on_gpu(mark(mark_word));
  void* args[] = {&at, &value};
  CU(cuLaunchKernel(tiny_, 1, 1, 1, 32, 1, 1, 0, s, args, nullptr));
}

void Client::wait_open(CUstream s, int word) {
  CU(cuStreamWaitValue32(s, on_gpu(hold(word)), 0, CU_STREAM_WAIT_VALUE_EQ));
}

void Client::write_done(CUstream s, uint32_t value, int word, unsigned flags) {
  CU(cuStreamWriteValue32(s, on_gpu(done(word)), value, flags));
}

void Client::fill_boundary(CUstreamBatchMemOpParams (&ops)[2], uint32_t value, int word) const {
  memset(ops, 0, sizeof ops);
  ops[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  ops[0].writeValue.address = on_gpu(board_.done[index_][word].value);
  ops[0].writeValue.value = value;
  ops[0].writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  ops[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  ops[1].waitValue.address = on_gpu(board_.hold[index_][word].value);
  ops[1].waitValue.value = 0;
  ops[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
}

void Client::boundary(CUstream s, uint32_t value, int word) {
  CUstreamBatchMemOpParams ops[2];
  fill_boundary(ops, value, word);
  CU(cuStreamBatchMemOp(s, 2, ops, 0));
}

CUgraphExec Client::chain_graph(int kernels, const Burn& kernel) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CU(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (int i = 0; i < kernels; ++i) launch(stream_, kernel);
  CU(cuStreamEndCapture(stream_, &graph));
  CU(cuGraphInstantiate(&exec, graph, 0));
  CU(cuGraphDestroy(graph));
  return exec;
}

void Client::pause_if_stuck(double since_us, double limit_us, const char* what) const {
  if (now_us() - since_us > limit_us) throw CudaError(std::string("timed out: ") + what);
  __builtin_ia32_pause();
}

void Client::settle(CUstream s, double limit_us) {
  const double start = now_us();
  for (;;) {
    const CUresult code = cu.cuStreamQuery(s);
    if (code == CUDA_SUCCESS) return;
    if (code != CUDA_ERROR_NOT_READY) check(code, "cuStreamQuery");
    pause_if_stuck(start, limit_us, "waiting for a stream to drain");
  }
}

// The time at which this CPU saw it.
double Client::await_word(const std::atomic<uint32_t>& word, uint32_t value, double limit_us) {
  const double start = now_us();
  while (word.load(std::memory_order_acquire) != value) pause_if_stuck(start, limit_us, "waiting for a word");
  return now_us();
}

// Requests with random idle gaps. With `gate`, best-effort clients are held from before the submission
// until after the synchronise; `resumes` then has the time from opening until slot 1's done word moves.
void Client::request(const Order& order) {
  const Burn kernel = burn(order.kernel_us > 0 ? order.kernel_us : 50);
  const CUgraphExec graph = order.kind == kGraph ? chain_graph(order.kernels, kernel) : nullptr;
  const auto serve = [&] {
    if (order.kind == kGraph) CU(cuGraphLaunch(graph, stream_));
    if (order.kind == kTiny) tiny(stream_);
    if (order.kind == kPlain) {
      for (int i = 0; i < order.kernels; ++i) launch(stream_, kernel);
    }
    CU(cuStreamSynchronize(stream_));
  };
  for (int i = 0; i < 3; ++i) serve();  // uploads the graph, wakes the clock

  const auto hold_all = [&](uint32_t value) {
    for (int other = 1; other < kSlots; ++other) {
      for (auto& word : board_.hold[other]) word.value.store(value, std::memory_order_seq_cst);
    }
  };
  const auto& neighbour = board_.done[1][0].value;
  const double end = now_us() + order.limit_us;
  slot_.running = 1;
  for (int i = 0; i < order.count && i < kSamples && now_us() < end && !slot_.stop; ++i) {
    const double start = now_us() + uniform(random_, order.gap_lo_us, order.gap_hi_us);
    spin_until(start);
    const double t0 = now_us();
    if (order.gate) hold_all(1);
    serve();
    const double t1 = now_us();
    slot_.active_us += t1 - t0;
    slot_.samples[i] = {t0, t1 - t0};
    slot_.nsamples = static_cast<uint32_t>(i + 1);
    if (!order.gate) continue;
    const uint32_t before = neighbour.load(std::memory_order_acquire);
    hold_all(0);
    const double opened = now_us();
    while (neighbour.load(std::memory_order_acquire) == before && now_us() - opened < order.gap_lo_us) {
    }
    if (neighbour.load(std::memory_order_acquire) != before) {
      const uint32_t n = slot_.nresumes;
      slot_.resumes[n] = {opened, now_us() - opened};
      slot_.nresumes = n + 1;
    }
  }
  if (order.gate) hold_all(0);
  if (graph) CU(cuGraphExecDestroy(graph));
}

// Back-to-back kernels, `depth` of them queued, until told to stop.
void Client::stream_load(const Order& order) {
  const Burn kernel = burn(order.kernel_us, order.waves);
  const auto depth = static_cast<uint64_t>(order.depth);
  std::vector<CUevent> ring(depth);
  for (auto& event : ring) CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  uint64_t queued = 0;
  while (!slot_.stop) {
    const CUevent event = ring[queued % depth];
    if (queued >= depth) {
      const double start = now_us();
      for (CUresult code; (code = cu.cuEventQuery(event)) != CUDA_SUCCESS;) {
        if (code != CUDA_ERROR_NOT_READY) check(code, "cuEventQuery");
        pause_if_stuck(start, 5e6, "waiting for a best-effort kernel");
      }
      slot_.work_ns = static_cast<uint64_t>(static_cast<double>(queued - depth + 1) * kernel.us * 1e3);
      slot_.running = 1;
    }
    launch(stream_, kernel);
    CU(cuEventRecord(event, stream_));
    ++queued;
  }
  settle(stream_);
  for (auto& event : ring) CU(cuEventDestroy(event));
}

// Chunks of kernels, each followed by [write done = n; wait hold == 0], queued `depth` kernels ahead.
// Every `long_every_us` of work, one kernel of `long_us` makes a chunk of its own.
void Client::gated_load(const Order& order) {
  const Burn kernel = burn(order.kernel_us, order.waves);
  const Burn longer = burn(order.long_us > 0 ? order.long_us : 1000);
  const auto per_chunk = static_cast<uint32_t>(std::max(1.0, order.chunk_us / kernel.us + .5));
  constexpr uint32_t kRing = 4096;
  std::vector<double> work_us(kRing, 0);  // up to chunk n
  uint32_t n = 0;
  double since_long = 0, last_progress = now_us();
  uint32_t last_done = 0;
  while (!slot_.stop) {
    const uint32_t finished = done().load(std::memory_order_acquire);
    slot_.work_ns = static_cast<uint64_t>(work_us[finished % kRing] * 1e3);
    if (finished != last_done || hold().load() != 0) last_progress = now_us();
    last_done = finished;
    if (finished > 0) slot_.running = 1;
    if ((n - finished) * per_chunk >= static_cast<uint32_t>(order.depth)) {
      pause_if_stuck(last_progress, 5e6, "waiting for a best-effort chunk");
      continue;
    }
    double chunk = 0;
    if (order.long_every_us > 0 && since_long >= order.long_every_us) {
      launch(stream_, longer);
      chunk = longer.us;
      since_long = 0;
    } else {
      for (uint32_t i = 0; i < per_chunk; ++i) launch(stream_, kernel);
      chunk = kernel.us * per_chunk;
      since_long += chunk;
    }
    work_us[(n + 1) % kRing] = work_us[n % kRing] + chunk;
    boundary(stream_, ++n);
  }
  hold().store(0);
  settle(stream_);
}

// One wait at the front of each stream and `count` kernels behind it, until told to stop.
void Client::park(const Order& order) {
  std::vector<CUstream> streams{stream_};
  while (static_cast<int>(streams.size()) < order.streams) {
    CUstream s = nullptr;
    CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    streams.push_back(s);
  }
  const Burn kernel = burn(20);
  for (int i = 0; i < order.streams; ++i) hold(i).store(1);
  for (int i = 0; i < order.streams; ++i) {
    const CUstream s = streams[static_cast<size_t>(i)];
    wait_open(s, i);
    for (int k = 0; k < order.count; ++k) launch(s, kernel);
    write_done(s, 1, i);
  }
  nap_us(2000);  // the front ends reach their waits
  slot_.running = 1;
  while (!slot_.stop) nap_us(200);
  for (int i = 0; i < order.streams; ++i) {
    if (done(i).load() != 0) throw CudaError("a parked stream ran although it was held");
  }
  for (int i = 0; i < order.streams; ++i) hold(i).store(0);
  for (const CUstream s : streams) settle(s);
  for (size_t i = 1; i < streams.size(); ++i) CU(cuStreamDestroy(streams[i]));
}

void Client::perform(const Order& order) {
  switch (order.act) {
    case Act::leave: return;
    case Act::platform: return platform();
    case Act::request: return request(order);
    case Act::stream: return stream_load(order);
    case Act::gated: return gated_load(order);
    case Act::park: return park(order);
    case Act::open_latency: return open_latency();
    case Act::chunk_cost: return chunk_cost();
    case Act::released: return released();
    case Act::graph_with_memop: return graph_with_memop();
    case Act::queue_depth: return queue_depth();
  }
}

// The alarm's default action ends the process: a client stuck in the driver lasts 40 s at most.
int run_client(int board_fd, int index) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(kWatchdogSeconds);
  setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, board_fd, 0);
  if (memory == MAP_FAILED || index < 0 || index >= kSlots) return 2;
  auto& board = *static_cast<Board*>(memory);
  Slot& slot = board.slot[index];
  const auto fail = [&](const std::exception& e) { snprintf(slot.error, sizeof slot.error, "%s", e.what()); };
  try {
    Client client(board, index);
    slot.ready = 1;
    uint32_t seen = 0;
    double armed = now_us();
    for (Order order;;) {
      if (slot.command == seen) {
        nap_us(20);
        if (now_us() - armed > 1e6) {
          alarm(kWatchdogSeconds);
          armed = now_us();
        }
        continue;
      }
      ++seen;
      order = slot.order;
      alarm(kWatchdogSeconds);
      if (order.act == Act::leave) break;
      try {
        client.clear_words();
        client.perform(order);
      } catch (const std::exception& e) {
        fail(e);
        for (auto& word : board.hold[index]) word.value.store(0);
      }
      slot.reply = seen;
    }
  } catch (const std::exception& e) {
    fail(e);
    return 3;
  }
  slot.reply = slot.command.load();
  return 0;
}
