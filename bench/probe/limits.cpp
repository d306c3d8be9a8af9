// Limits of the driver, and when it blocks: waits inside graphs, full queues behind a parked stream, streams that
// share a hardware channel with one.
#include <cstring>

#include "client.h"

namespace {
// Stores 0 to `word` after `delay_us`, from a thread that makes no CUDA call.
class Opener {
 public:
  Opener(std::atomic<uint32_t>& word, double delay_us)
      : thread_([this, &word, delay_us] {
          nap_us(delay_us);
          at_us_ = now_us();
          word.store(0);
        }) {}
  ~Opener() { thread_.join(); }
  bool opened() const { return at_us_ > 0; }

 private:
  std::atomic<double> at_us_{0};
  std::thread thread_;
};
}  // namespace

void Client::graph_with_memop() {
  const Burn kernel = burn(50);
  unsigned iterations = kernel.iterations;
  CUdeviceptr none = 0, mark_at = on_gpu(mark());
  uint32_t zero = 0, nine = 9;
  void *burn_args[] = {&iterations, &none, &none, &zero}, *tiny_args[] = {&mark_at, &nine};
  const auto kernel_node = [&](CUfunction f, unsigned grid, unsigned threads, void** args) {
    CUDA_KERNEL_NODE_PARAMS params;
    memset(&params, 0, sizeof params);
    params.func = f;
    params.gridDimX = grid;
    params.blockDimX = threads;
    params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = args;
    return params;
  };
  const CUDA_KERNEL_NODE_PARAMS burn_node = kernel_node(burn_, kernel.grid, 256, burn_args);
  const CUDA_KERNEL_NODE_PARAMS tiny_node = kernel_node(tiny_, 1, 32, tiny_args);
  CUstreamBatchMemOpParams ops[2];
  fill_boundary(ops, 7, 0);
  CUDA_BATCH_MEM_OP_NODE_PARAMS gate;
  memset(&gate, 0, sizeof gate);
  gate.ctx = context_;
  gate.count = 2;
  gate.paramArray = ops;

  Json out;
  CUgraph graph = nullptr;
  CUgraphNode a = nullptr, middle = nullptr, b = nullptr;
  CUgraphExec exec = nullptr;
  CU(cuGraphCreate(&graph, 0));
  CU(cuGraphAddKernelNode(&a, graph, nullptr, 0, &burn_node));
  const CUresult added = cu.cuGraphAddBatchMemOpNode(&middle, graph, &a, 1, &gate);
  out.str("add_node", outcome(added));
  if (added == CUDA_SUCCESS) {
    CU(cuGraphAddKernelNode(&b, graph, &middle, 1, &tiny_node));
    const CUresult made = cu.cuGraphInstantiate(&exec, graph, 0);
    out.str("instantiate", outcome(made));
    if (made == CUDA_SUCCESS) {
      const auto parks = [&] {
        clear_words();
        hold().store(1);
        CU(cuGraphLaunch(exec, stream_));
        await_word(done(), 7);
        nap_us(20000);
        const bool held = mark().load() == 0;
        hold().store(0);
        await_word(mark(), 9);
        settle(stream_);
        return held;
      };
      out.flag("parks_and_resumes", parks());
      out.str("remove_node_after_instantiate", outcome(cu.cuGraphDestroyNode(middle)));
      out.flag("executable_still_parks", parks());
      CU(cuGraphExecDestroy(exec));
    }
  }
  CU(cuGraphDestroy(graph));

  // The same operations captured from a stream.
  CUgraph captured = nullptr;
  CU(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  out.str("capture_batch", outcome(cu.cuStreamBatchMemOp(stream_, 2, ops, 0)));
  out.str("capture_wait", outcome(cu.cuStreamWaitValue32(stream_, on_gpu(hold()), 0, CU_STREAM_WAIT_VALUE_EQ)));
  out.str("end_capture", outcome(cu.cuStreamEndCapture(stream_, &captured)));
  if (captured) CU(cuGraphDestroy(captured));

  printf("  %s\n", out.text().c_str());
  tell(out);

  // 48 kernels of 50 us with a gate node every 4 (200 us), against none.
  CUgraphExec execs[2] = {nullptr, nullptr};
  for (const int gated : {0, 1}) {
    CUgraph chain = nullptr;
    CUgraphNode last = nullptr;
    CU(cuGraphCreate(&chain, 0));
    for (int i = 0; i < 48; ++i) {
      const CUgraphNode before = last;
      CU(cuGraphAddKernelNode(&last, chain, before ? &before : nullptr, before ? 1 : 0, &burn_node));
      if (!gated || added != CUDA_SUCCESS || i % 4 != 3) continue;
      const CUgraphNode kernel_before = last;
      CU(cuGraphAddBatchMemOpNode(&last, chain, &kernel_before, 1, &gate));
    }
    CU(cuGraphInstantiate(&execs[gated], chain, 0));
    CU(cuGraphDestroy(chain));
  }
  clear_words();
  std::vector<double> times[2];
  for (int i = 0; i < 62; ++i) {
    const double start = now_us();
    CU(cuGraphLaunch(execs[i % 2], stream_));
    CU(cuStreamSynchronize(stream_));
    if (i >= 2) times[i % 2].push_back(now_us() - start);
  }
  out.add("chain_plain", distribution("graph of 48 x 50 us", times[0]));
  out.add("chain_gated", distribution("the same with a gate node every 200 us", times[1]));
  for (const CUgraphExec e : execs) CU(cuGraphExecDestroy(e));
  tell(out);
}

void Client::queue_depth() {
  constexpr int kMost = 40000;
  constexpr double kOpenAfter_us = 250e3, kBlocked_us = 20e3;
  CUstream other = nullptr, third = nullptr;
  CUevent past = nullptr, marker = nullptr;
  CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CU(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
  CU(cuEventCreate(&past, CU_EVENT_DISABLE_TIMING));
  CU(cuEventCreate(&marker, CU_EVENT_DISABLE_TIMING));
  CU(cuEventRecord(past, other));
  settle(other);
  const CUgraphExec graph = chain_graph(1, Burn{1, 1, 1});
  CU(cuGraphLaunch(graph, stream_));
  settle(stream_);

  // Fills the parked stream by `fill` until a call blocks; meanwhile another thread times `probe`, but only
  // calls begun while the filler had been inside one call for 20 ms.
  Json out;
  using Call = std::function<void()>;
  const auto round = [&](const char* label, const Call& fill, const Call& probe) {
    clear_words();
    hold().store(1);
    wait_open(stream_);
    std::atomic<double> inside_since{0};
    std::atomic<bool> over{false};
    double longest_us = 0, slow_at = -1;
    int probes = 0, queued = 0;
    bool blocked = false;
    std::string probe_error;
    {
      const Opener opener(hold(), kOpenAfter_us);
      std::thread prober([&] {
        try {
          if (probe) CU(cuCtxSetCurrent(context_));
          while (probe && !over) {
            const double since = inside_since;
            if (since > 0 && now_us() - since > kBlocked_us && !opener.opened()) {
              const double start = now_us();
              probe();
              longest_us = std::max(longest_us, now_us() - start);
              ++probes;
            }
            nap_us(1000);
          }
        } catch (const std::exception& e) {
          probe_error = e.what();
        }
      });
      std::string fill_error;
      try {
        for (; queued < kMost && !opener.opened(); ++queued) {
          const double start = now_us();
          inside_since = start;
          fill();
          inside_since = 0;
          const double took = now_us() - start;
          if (took > 1000 && slow_at < 0) slow_at = queued;
          if ((blocked = took > kBlocked_us)) break;
        }
      } catch (const std::exception& e) {
        fill_error = e.what();
      }
      over = true;
      prober.join();
      if (!fill_error.empty()) probe_error = fill_error;
    }
    settle(stream_);
    settle(other);
    Json result;
    result.num("queued", queued).flag("blocked", blocked).num("first_call_over_1ms", slow_at);
    if (probe) result.num("probe_longest_us", longest_us).num("probes", probes);
    if (!probe_error.empty()) result.str("error", probe_error);
    printf("  %-46s %s after %d", label, blocked ? "blocked" : "did not block", queued);
    if (probe) printf("; a call elsewhere took at most %.1f us (n %d)", longest_us, probes);
    printf("%s%s\n", probe_error.empty() ? "" : "; ", probe_error.c_str());
    fflush(stdout);
    out.add(label, result);
    tell(out);
  };

  const Call kernel = [&] { tiny(stream_); };
  size_t free_bytes = 0, total_bytes = 0;
  CUcontext context = nullptr;
  round("kernels", kernel, nullptr);
  round("write_value", [&] { write_done(stream_, 1); }, nullptr);
  round("batch_write_wait", [&] { boundary(stream_, 1); }, nullptr);
  round("event_record", [&] { CU(cuEventRecord(marker, stream_)); }, nullptr);
  round("graph_launch", [&] { CU(cuGraphLaunch(graph, stream_)); }, nullptr);
  round("kernels_while_event_query", kernel, [&] { CU(cuEventQuery(past)); });
  round("kernels_while_stream_query", kernel, [&] { CU(cuStreamQuery(third)); });
  round("kernels_while_mem_get_info", kernel, [&] { CU(cuMemGetInfo(&free_bytes, &total_bytes)); });
  round("kernels_while_launch_elsewhere", kernel, [&] { tiny(other); });
  round("kernels_while_write_elsewhere", kernel, [&] { write_done(other, 1, 1); });
  round("kernels_while_event_record_elsewhere", kernel, [&] { CU(cuEventRecord(marker, other)); });
  round("kernels_while_ctx_get_current", kernel, [&] { CU(cuCtxGetCurrent(&context)); });

  // Streams share hardware channels: how many siblings does a parked stream hold up?
  std::vector<CUstream> streams(40);
  for (auto& s : streams) {
    CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    tiny(s);
    settle(s);
  }
  for (const size_t parked : {1, 4, 8}) {
    clear_words();
    hold().store(1);
    int held_up = 0;
    {
      const Opener opener(hold(), 400e3);
      for (size_t i = 0; i < parked; ++i) wait_open(streams[i]);
      for (size_t i = parked; i < streams.size() && !opener.opened(); ++i) {
        tiny(streams[i]);
        const double start = now_us();
        CUresult code = CUDA_ERROR_NOT_READY;
        while (code == CUDA_ERROR_NOT_READY && now_us() - start < 5000) code = cu.cuStreamQuery(streams[i]);
        if (code == CUDA_ERROR_NOT_READY) ++held_up;
        else check(code, "cuStreamQuery");
      }
      hold().store(0);
    }
    for (const CUstream s : streams) settle(s);
    out.show("of 40 streams, held up by parking " + std::to_string(parked), held_up, "");
  }
  for (const CUstream s : streams) CU(cuStreamDestroy(s));
  for (const CUstream s : {other, third}) CU(cuStreamDestroy(s));
  for (const CUevent e : {past, marker}) CU(cuEventDestroy(e));
  CU(cuGraphExecDestroy(graph));
  tell(out);
}
