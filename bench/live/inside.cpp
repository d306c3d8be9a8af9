// Measures the cost of stopping inside, and how soon it comes: this process is a best-effort client under the
// interposer, and by itself the agent and the high client beside it, so that it knows when the pause flag was set. One
// JSON line a kernel or graph, in order:
//
// inside KERNELS.ptx [graphs] run by run.sh, which says how to start it; graphs: those alone
//
// A stop is late by the time from the store into the pause flag to the last block (or node) that says it is done.
#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "../../test/interposer/fixture.h"

using namespace harness;

namespace {

constexpr unsigned kFloats = 1u << 28;
constexpr int kRounds = 15;
constexpr int kRow = 8;  // launches one behind the other
constexpr std::uint64_t kEnoughNs = 2'500'000'000;  // for the stops of one kernel

struct Job {
  const char* name;
  unsigned grid[3];
  unsigned block[3];
  unsigned n;
};

constexpr Job kJobs[] = {
    {"scale", {1u << 20, 1, 1}, {256, 1, 1}, kFloats},
    {"burn", {132 * 8 * 50, 1, 1}, {256, 1, 1}, 132 * 8 * 50 * 256},
    {"product", {64, 64, 1}, {32, 32, 1}, 2048},
    {"softmax", {1u << 16, 1, 1}, {256, 1, 1}, kFloats},
    {"leaving", {1u << 18, 1, 1}, {256, 1, 1}, 1u << 26},
    {"stencil", {16, 64, 64}, {32, 8, 1}, 1u << 27},
};

struct GraphJob {
  const char* name;
  unsigned nodes;
  unsigned node_us;
  unsigned chunk_us;
};

constexpr GraphJob kGraphs[] = {
    {"500 x 100 us", 500, 100, 200},
    {"2000 x 10 us", 2000, 10, 200},
    {"50 x 1000 us", 50, 1000, 200},
};

std::uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

double quantile(std::vector<double> of, double q) {
  if (of.empty()) return -1;
  std::sort(of.begin(), of.end());
  return of[static_cast<std::size_t>(q * static_cast<double>(of.size() - 1) + 0.5)];
}

std::string spread(const std::vector<double>& of) {
  char text[160];
  std::snprintf(text, sizeof text, R"({"p10":%.2f,"p50":%.2f,"p90":%.2f,"p99":%.2f,"max":%.2f})", quantile(of, 0.1),
                quantile(of, 0.5), quantile(of, 0.9), quantile(of, 0.99), quantile(of, 1));
  return text;
}

struct Bench {
  BestEffort client;
  CUstream stream = make_stream();
  Word word;
  CUevent start = make_event();
  CUevent end = make_event();
  CUdeviceptr x = 0, y = 0, reference = 0, count = 0;
  std::string text;
  CUmodule common = nullptr;
  std::mt19937 random{20};

  explicit Bench(const char* path) {
    std::ifstream file(path);
    std::stringstream all;
    all << file.rdbuf();
    text = all.str();
    if (text.empty()) fail(std::string("cannot read ") + path);
    client.agent.variant = "__cotenant_preempt";  // whatever the command makes
    OK(cuda().cuModuleLoadData(&common, text.c_str()));
    for (CUdeviceptr* at : {&x, &y, &reference}) OK(cuda().cuMemAlloc_v2(at, std::size_t{kFloats} * 4));
    OK(cuda().cuMemAlloc_v2(&count, 4));
    unsigned n = kFloats;
    void* parameters[] = {&x, &n};
    OK(cuda().cuLaunchKernel(function(common, "fill"), 1024, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr));
    sync();
  }

  auto& rules() { return client.agent.region().settings; }
  void sync() { OK(cuda().cuStreamSynchronize(stream)); }

  static CUfunction function(CUmodule module, const char* name) {
    CUfunction found = nullptr;
    OK(cuda().cuModuleGetFunction(&found, module, name));
    return found;
  }
  CUfunction load(const char* name) {
    CUmodule module = nullptr;
    OK(cuda().cuModuleLoadData(&module, text.c_str()));
    return function(module, name);
  }

  // GPU time of what `submit` puts into the stream, in us.
  template <class Submit>
  double timed(Submit submit) {
    OK(cuda().cuEventRecord(start, stream));
    submit();
    OK(cuda().cuEventRecord(end, stream));
    sync();
    float ms = 0;
    OK(cuda().cuEventElapsedTime(&ms, start, end));
    return static_cast<double>(ms) * 1000;
  }

  unsigned differing() {
    unsigned n = kFloats;
    void* parameters[] = {&y, &reference, &n, &count};
    OK(cuda().cuMemsetD32_v2(count, 0, 1));
    OK(cuda().cuLaunchKernel(function(common, "differing"), 1024, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr));
    sync();
    unsigned found = 0;
    OK(cuda().cuMemcpyDtoH_v2(&found, count, 4));
    return found;
  }

  struct Stops {
    std::vector<double> late_us;
    int tried = 0;
  };
  // Begins requests while what `submit` submits is running; stops that came too late to leave anything are not counted.
  template <class Submit>
  Stops stop(Submit submit, double us, int tries) {
    Stops stops;
    const std::uint64_t until = now_ns() + kEnoughNs;
    for (; stops.tried < tries && now_ns() < until; ++stops.tried) {
      *word.host = 0;
      // A graph in parts is submitted little by little.
      std::thread submits([&] {
        OK(cuda().cuCtxSetCurrent(client.program.context));
        submit();
      });
      const std::uint64_t begun = now_ns();
      while (*word.host == 0 && now_ns() - begun < 100'000'000) {
      }
      const auto wait = static_cast<std::uint64_t>(us * 1000 * std::uniform_real_distribution<>(0.05, 0.75)(random));
      for (const std::uint64_t from = now_ns(); now_ns() - from < wait;) {
      }
      unsigned last = *word.host;
      const std::uint64_t asked = now_ns();
      client.request_begins();
      std::uint64_t changed = asked;
      for (std::uint64_t now = asked; now - changed < 1'500'000; now = now_ns()) {
        const unsigned seen = *word.host;
        if (seen != last) changed = now, last = seen;
      }
      client.request_ends();
      submits.join();
      sync();
      if (*word.host != last) stops.late_us.push_back(static_cast<double>(changed - asked) / 1000);
    }
    return stops;
  }

  void run(const Job& job) {
    const CUfunction plain = load(job.name);
    const CUfunction form = load(job.name);
    OK(cuda().cuMemsetD32_v2(y, 0, kFloats));
    OK(cuda().cuMemsetD32_v2(reference, 0, kFloats));
    OK(cuda().cuCtxSynchronize());  // the stream does not wait for them
    int formed = 0;
    int plainly = 0;
    const auto launch = [&](CUfunction f, CUdeviceptr seen) {
      CUdeviceptr to = f == form ? y : reference;
      unsigned n = job.n;
      void* parameters[] = {&x, &to, &n, &seen};
      ++(f == form ? formed : plainly);
      OK(cuda().cuLaunchKernel(f, job.grid[0], job.grid[1], job.grid[2], job.block[0], job.block[1], job.block[2], 0,
                               stream, parameters, nullptr));
    };
    rules().preemptUs = 0;
    for (int i = 0; i < 6; ++i) launch(plain, 0), sync();
    rules().preemptUs = 200;
    // From the first launch of an unknown kernel to the end of the trial of its forms.
    const std::uint64_t before = client.slot().variants.load();
    const std::uint64_t first = now_ns();
    const auto made_yet = [&] { return client.slot().variants.load() > before; };
    while (!made_yet() && now_ns() - first < 4'000'000'000) launch(form, 0), sync();
    const double made_ms = static_cast<double>(now_ns() - first) / 1e6;
    for (int i = 0; i < 24; ++i) launch(form, 0), sync();
    const double tried_ms = static_cast<double>(now_ns() - first) / 1e6;
    rules().preemptUs = 0;
    const std::uint64_t stoppable = client.slot().preemptible.load();

    std::vector<double> native_us, plain_us, form_us, plain_row, form_row;
    for (int i = 0; i < kRounds; ++i) {
      rules().protect = 0;
      native_us.push_back(timed([&] { launch(plain, 0); }));
      rules().protect = 1;
      plain_us.push_back(timed([&] { launch(plain, 0); }));
      form_us.push_back(timed([&] { launch(form, 0); }));
      const auto row = [&](CUfunction f) {
        return timed([&] {
                 for (int k = 0; k < kRow; ++k) launch(f, 0);
               }) /
               kRow;
      };
      plain_row.push_back(row(plain));
      form_row.push_back(row(form));
    }
    const bool used = client.slot().preemptible.load() > stoppable;
    const double us = quantile(form_us, 0.5);
    Stops stops;
    if (used) stops = stop([&] { launch(form, word.device); }, us, 150);
    const double blocks = static_cast<double>(job.grid[0]) * job.grid[1] * job.grid[2];
    int per_sm = 0;
    OK(cuda().cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, plain, static_cast<int>(job.block[0] * job.block[1]),
                                                          0));
    rules().preemptUs = 0;
    while (plainly < formed) launch(plain, 0), sync();
    while (formed < plainly) launch(form, 0), sync();
    const unsigned wrong = differing();
    std::printf(
        R"({"kernel":"%s","form":%s,"used":%s,"blocks":%.0f,"blocksPerSm":%d,"nativeUs":%s,"originalUs":%s,"formUs":%s,)"
        R"("originalInRowUs":%s,"formInRowUs":%s,"blockUs":%.2f,"madeAfterMs":%.0f,"triedAfterMs":%.0f,"launches":%d,"stopsTried":%d,"stops":%zu,"lateUs":%s,)"
        R"("differingWords":%u})"
        "\n",
        job.name, made_yet() ? "true" : "false", used ? "true" : "false", blocks, per_sm, spread(native_us).c_str(),
        spread(plain_us).c_str(), spread(form_us).c_str(), spread(plain_row).c_str(), spread(form_row).c_str(),
        quantile(native_us, 0.5) * per_sm * 132 / blocks, made_ms, tried_ms, formed, stops.tried, stops.late_us.size(),
        spread(stops.late_us).c_str(), wrong);
    std::fflush(stdout);
  }

  // The cost of one node between two kernels: {wait}, {write, wait}, and two kernels next to each other.
  void run_gates() {
    constexpr unsigned kNodes = 400;
    rules().protect = 0;
    rules().graphGates = 0;
    const CUfunction node = function(common, "node");
    unsigned number = 0, iterations = 10'000;
    CUdeviceptr seen = 0, none = 0;
    void* parameters[] = {&seen, &number, &iterations, &none};
    const auto graph_of = [&](unsigned words) {
      CUgraph graph = nullptr;
      CUgraphExec exec = nullptr;
      CUgraphNode last = nullptr;
      OK(cuda().cuGraphCreate(&graph, 0));
      for (unsigned i = 0; i < kNodes; ++i) {
        CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
        kernel.func = node;
        kernel.gridDimX = 256, kernel.gridDimY = kernel.gridDimZ = 1;
        kernel.blockDimX = 256, kernel.blockDimY = kernel.blockDimZ = 1;
        kernel.kernelParams = parameters;
        CUgraphNode made = nullptr;
        OK(cuda().cuGraphAddKernelNode_v2(&made, graph, last ? &last : nullptr, last ? 1 : 0, &kernel));
        last = made;
        if (words == 0) continue;
        CUstreamBatchMemOpParams operations[2] = {};
        operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        operations[0].writeValue.address = word.device + 128;
        operations[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
        operations[1].waitValue.address = word.device + 64;
        operations[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
        const CUDA_BATCH_MEM_OP_NODE_PARAMS gate{client.program.context, words, operations + 2 - words, 0};
        OK(cuda().cuGraphAddBatchMemOpNode(&made, graph, &last, 1, &gate));
        last = made;
      }
      OK(cuda().cuGraphInstantiateWithFlags(&exec, graph, 0));
      return exec;
    };
    const CUgraphExec bare = graph_of(0), waits = graph_of(1), writes = graph_of(2);
    std::vector<double> bare_us, waits_us, writes_us;
    for (int i = 0; i < kRounds; ++i) {
      bare_us.push_back(timed([&] { OK(cuda().cuGraphLaunch(bare, stream)); }));
      waits_us.push_back(timed([&] { OK(cuda().cuGraphLaunch(waits, stream)); }));
      writes_us.push_back(timed([&] { OK(cuda().cuGraphLaunch(writes, stream)); }));
    }
    rules().protect = 1;
    const double bare_one = quantile(bare_us, 0.5) / kNodes;
    std::printf(R"({"gates":"one node","kernelUs":%.2f,"waitUs":%.2f,"writeAndWaitUs":%.2f})"
                "\n",
                bare_one, quantile(waits_us, 0.5) / kNodes - bare_one, quantile(writes_us, 0.5) / kNodes - bare_one);
    std::fflush(stdout);
  }

  // A graph made executable, and what that took.
  struct Made {
    CUgraphExec exec;
    std::uint64_t places;
    double ms;
    double megabytes;  // of the GPU's memory, the first launch included
    double launch_us;  // of the CPU's time, first launch
    std::string cost() const {
      char text[120];
      std::snprintf(text, sizeof text, R"({"ms":%.2f,"gpuMegabytes":%.1f,"firstLaunchMs":%.2f})", ms, megabytes,
                    launch_us / 1000);
      return text;
    }
  };
  Made make(CUgraph graph, cotenant::protocol::GraphGates how) {
    Made made{};
    std::size_t before = 0, after = 0, total = 0;
    rules().graphGates = static_cast<std::uint32_t>(how);
    const std::uint64_t places = client.slot().graphGates.load();
    OK(cuda().cuMemGetInfo_v2(&before, &total));
    const std::uint64_t began = now_ns();
    OK(cuda().cuGraphInstantiateWithFlags(&made.exec, graph, 0));
    const std::uint64_t done = now_ns();
    OK(cuda().cuGraphLaunch(made.exec, stream));
    made.launch_us = static_cast<double>(now_ns() - done) / 1000;
    sync();
    OK(cuda().cuMemGetInfo_v2(&after, &total));
    made.ms = static_cast<double>(done - began) / 1e6;
    made.megabytes = (static_cast<double>(before) - static_cast<double>(after)) / (1 << 20);
    made.places = client.slot().graphGates.load() - places;
    return made;
  }

  void run(const GraphJob& job) {
    const CUfunction node = function(common, "node");
    unsigned iterations = 100'000;
    CUdeviceptr none = 0;
    // A shape of its own: what is learned of one graph's kernels is not true for another's.
    unsigned shared = 0;
    const auto launch = [&](unsigned number) {
      void* parameters[] = {&word.device, &number, &iterations, &none};
      OK(cuda().cuLaunchKernel(node, 264, 1, 1, 256, 1, 1, shared, stream, parameters, nullptr));
    };
    rules().protect = 0;
    double us = 0;
    for (int i = 0; i < 5; ++i) us = timed([&] { launch(0); });
    iterations = static_cast<unsigned>(100'000 * job.node_us / std::max(us, 0.1));
    rules().protect = 1;
    const unsigned chunk_us = rules().chunkUs;
    rules().chunkUs = job.chunk_us;
    shared = 16 * (1 + static_cast<unsigned>(&job - kGraphs));
    for (int i = 0; i < 40; ++i) {  // learned at this length
      launch(0);
      if (i % 4 == 3) sync();
    }
    CUgraph graph = nullptr;
    OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (unsigned i = 1; i <= job.nodes; ++i) launch(i);
    OK(cuda().cuStreamEndCapture(stream, &graph));
    const auto made = [&](cotenant::protocol::GraphGates how) { return make(graph, how); };
    const Made whole = made(cotenant::protocol::GraphGates::kNone);
    const Made gated = made(cotenant::protocol::GraphGates::kNodes);
    const Made parts = made(cotenant::protocol::GraphGates::kParts);
    std::vector<double> native_us, whole_us, gated_us, parts_us, alone_us;
    for (int i = 0; i < kRounds; ++i) {
      const auto launched = [&](const Made& of) { return timed([&] { OK(cuda().cuGraphLaunch(of.exec, stream)); }); };
      rules().protect = 0;
      native_us.push_back(launched(whole));
      alone_us.push_back(launched(parts));  // whole, as there is nobody to protect
      rules().protect = 1;
      whole_us.push_back(launched(whole));
      gated_us.push_back(launched(gated));
      parts_us.push_back(launched(parts));
    }
    const auto stops_of = [&](const Made& of, double took) {
      return of.places == 0 ? Stops{} : stop([&] { OK(cuda().cuGraphLaunch(of.exec, stream)); }, took, 100);
    };
    const Stops at_gates = stops_of(gated, quantile(gated_us, 0.5));
    const Stops at_parts = stops_of(parts, quantile(parts_us, 0.5));
    rules().chunkUs = chunk_us;
    std::printf(
        R"({"graph":"%s","places":%llu,"nativeUs":%s,"wholeUs":%s,"gatedUs":%s,"partsUs":%s,"partsAloneUs":%s,)"
        R"("wholeMade":%s,"gatedMade":%s,"partsMade":%s,"gatesLateUs":%s,"partsLateUs":%s,"stops":[%zu,%zu],"lastNode":%u})"
        "\n",
        job.name, static_cast<unsigned long long>(parts.places), spread(native_us).c_str(), spread(whole_us).c_str(),
        spread(gated_us).c_str(), spread(parts_us).c_str(), spread(alone_us).c_str(), whole.cost().c_str(),
        gated.cost().c_str(), parts.cost().c_str(), spread(at_gates.late_us).c_str(), spread(at_parts.late_us).c_str(),
        at_gates.late_us.size(), at_parts.late_us.size(), word.host->load());
    std::fflush(stdout);
  }
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) fail("inside KERNELS.ptx");
  Bench bench(arguments[1]);
  bench.run_gates();
  for (const GraphJob& job : kGraphs) bench.run(job);
  for (const Job& job : kJobs)
    if (count < 3) bench.run(job);
  _exit(0);  // without the atexit handlers of a process whose agent is itself
}
