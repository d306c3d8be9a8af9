// Capture and graphs.
#include <thread>

#include "client.h"

namespace {

// A graph of `count` stores into `word`, one after the other, by capture.
CUgraph captured(const Gpu& gpu, CUstream s, CUdeviceptr word, unsigned first, unsigned count) {
  CUgraph graph = nullptr;
  OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (unsigned i = 0; i < count; ++i) gpu.write(s, 20, word, first + i);
  OK(cuStreamEndCapture(s, &graph));
  return graph;
}

unsigned word_at(CUdeviceptr from) {
  unsigned seen = 0;
  OK(cuMemcpyDtoH_v2(&seen, from, 4));
  return seen;
}

}  // namespace

CASE("capture-does-not-run") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  const CUdeviceptr word = gpu.memory(4);
  OK(cuMemsetD32_v2(word, 0, 1));
  OK(cuCtxSynchronize());
  const CUgraph graph = captured(gpu, s, word, 1, 5);
  std::size_t nodes = 0, edges = 0;
  OK(cuGraphGetNodes(graph, nullptr, &nodes));
  OK(cuGraphGetEdges(graph, nullptr, nullptr, &edges));
  EXPECT(nodes == 5 && edges == 4, "five works of a stream become a chain of five nodes");
  EXPECT(word_at(word) == 0, "nothing ran while it was captured");
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphDestroy(graph));
  for (int i = 0; i < 3; ++i) OK(cuGraphLaunch(exec, s));
  OK(cuGraphExecDestroy(exec));  // running launches go on
  OK(cuStreamSynchronize(s));
  EXPECT(word_at(word) == 5, "a launch runs all nodes in order");
  report("{}");
}

// "Each launch is ordered behind both any previous work in hStream and any previous launches of hGraphExec."
CASE("launches-of-one-graph-follow-each-other") {
  const Gpu gpu;
  const CUstream a = gpu.stream(), b = gpu.stream();
  const CUdeviceptr word = gpu.memory(4);
  OK(cuMemsetD32_v2(word, 0, 1));
  const CUgraph graph = captured(gpu, a, word, 1, 5);
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  gpu.run(a, 5000);
  CUevent first = nullptr;
  OK(cuEventCreate(&first, 0));
  OK(cuGraphLaunch(exec, a));
  OK(cuEventRecord(first, a));
  OK(cuGraphLaunch(exec, b));
  OK(cuStreamSynchronize(b));
  EXPECT(api().cuEventQuery(first) == CUDA_SUCCESS,
         "a launch in another stream begins after the launch before it has ended");
  report("{}");
}

CASE("fork-and-join") {
  const Gpu gpu;
  const CUstream a = gpu.stream(), b = gpu.stream();
  const CUdeviceptr word = gpu.memory(8);
  CUevent fork_event = nullptr, join_event = nullptr, begin = nullptr, end = nullptr;
  for (CUevent* event : {&fork_event, &join_event, &begin, &end}) OK(cuEventCreate(event, 0));
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  gpu.run(a, 1000);
  OK(cuEventRecord(fork_event, a));
  OK(cuStreamWaitEvent(b, fork_event, 0));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  OK(cuStreamIsCapturing(b, &status));
  EXPECT(status == CU_STREAM_CAPTURE_STATUS_ACTIVE, "waiting for a captured event joins the capture");
  gpu.run(a, 5000, 60);
  gpu.run(b, 5000, 60);
  OK(cuMemsetD32Async(word, 9, 1, b));
  OK(cuEventRecord(join_event, b));
  OK(cuStreamWaitEvent(a, join_event, 0));
  gpu.run(a, 1000);
  CUgraph graph = nullptr;
  OK(cuStreamEndCapture(a, &graph));
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  const Hold hold;
  hold.close(a);
  OK(cuEventRecord(begin, a));
  OK(cuGraphLaunch(exec, a));
  OK(cuEventRecord(end, a));
  hold.open();
  OK(cuStreamSynchronize(a));
  float ms = 0;
  OK(cuEventElapsedTime(&ms, begin, end));
  EXPECT(ms >= 7.0f && ms < 12.0f, "independent branches of a graph run together");
  EXPECT(word_at(word) == 9, "the branch ran");
  report("{\"ms\":%.3f}", double(ms));
}

CASE("illegal-during-capture") {
  const Gpu gpu;
  const CUstream s = gpu.stream(CU_STREAM_DEFAULT), apart = gpu.stream();
  CUgraph graph = nullptr;
  CUevent event = nullptr;
  OK(cuEventCreate(&event, 0));
  struct Row {
    const char* name;
    CUresult wanted;
    std::function<CUresult()> call;
  };
  CUdeviceptr memory = 0;
  const Row rows[] = {
      {"synchronising the stream", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return api().cuStreamSynchronize(s); }},
      {"querying the stream", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return api().cuStreamQuery(s); }},
      {"synchronising the context", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return api().cuCtxSynchronize(); }},
      {"allocating", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return api().cuMemAlloc_v2(&memory, 4096); }},
      {"a query of another event", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return api().cuEventQuery(event); }},
      {"work on the NULL stream", CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
       [&] { return api().cuLaunchHostFunc(nullptr, [](void*) {}, nullptr); }},
      {"a callback", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
       [&] { return api().cuStreamAddCallback(s, [](CUstream, CUresult, void*) {}, nullptr, 0); }},
      {"waiting for an event from outside", CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
       [&] {
         OK(cuEventRecord(event, apart));
         return api().cuStreamWaitEvent(s, event, 0);
       }},
  };
  for (const Row& row : rows) {
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gpu.run(s, 10);
    const CUresult given = row.call();
    if (given != row.wanted) fail("%s during capture gave %d", row.name, int(given));
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    OK(cuStreamIsCapturing(s, &status));
    if (status != CU_STREAM_CAPTURE_STATUS_INVALIDATED) fail("%s did not break the capture", row.name);
    if (api().cuStreamEndCapture(s, &graph) != CUDA_ERROR_STREAM_CAPTURE_INVALIDATED || graph != nullptr) {
      fail("%s: the end of the capture did not say so", row.name);
    }
    gpu.run(s, 10);
    OK(cuStreamSynchronize(s));
  }
  GIVES(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(s, &graph));
  GIVES(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL));
  report("{\"rows\":%zu}", sizeof rows / sizeof rows[0]);
}

CASE("allowed-during-capture") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  CUgraph graph = nullptr;
  CUdeviceptr memory = 0;
  OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT(mode == CU_STREAM_CAPTURE_MODE_GLOBAL, "a thread begins in the strictest mode");
  OK(cuMemAlloc_v2(&memory, 4096));
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  gpu.run(nullptr, 10);  // the capturing stream is non-blocking: the NULL stream is free
  gpu.run(s, 10);
  OK(cuStreamEndCapture(s, &graph));
  // A capture that is local to its thread forbids nothing to another thread.
  OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  std::thread other([&] {
    OK(cuCtxSetCurrent(gpu.context));
    CUdeviceptr more = 0;
    OK(cuMemAlloc_v2(&more, 4096));
    CUgraph none = nullptr;
    GIVES(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, cuStreamEndCapture(s, &none));
  });
  other.join();
  GIVES(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(s, &graph));
  report("{}");
}

CASE("unjoined") {
  const Gpu gpu;
  const CUstream a = gpu.stream(), b = gpu.stream();
  CUevent event = nullptr;
  OK(cuEventCreate(&event, 0));
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  gpu.run(a, 10);
  OK(cuEventRecord(event, a));
  GIVES(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(event));
  CUgraph graph = nullptr;
  GIVES(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  gpu.run(a, 10);
  OK(cuEventRecord(event, a));
  OK(cuStreamWaitEvent(b, event, 0));
  gpu.run(b, 10);
  GIVES(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(a, &graph));
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(cuEventRecord(event, a));
  OK(cuStreamWaitEvent(b, event, 0));
  GIVES(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(b, &graph));
  GIVES(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));
  report("{}");
}

CASE("built-by-hand") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  const CUdeviceptr words = gpu.memory(64);
  CUgraph graph = nullptr;
  OK(cuGraphCreate(&graph, 0));
  CUgraphNode fill = nullptr, kernel = nullptr, copy = nullptr, host = nullptr, empty = nullptr;
  const CUDA_MEMSET_NODE_PARAMS zero{words, 0, 0x5a5a5a5a, 4, 16, 1};
  OK(cuGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero, gpu.context));
  std::uint64_t ns = 100000;
  CUdeviceptr target = words + 4;
  unsigned value = 11;
  void* parameters[] = {&ns, &target, &value};
  CUDA_KERNEL_NODE_PARAMS_v2 launch{};
  launch.func = gpu.store;
  launch.gridDimX = launch.gridDimY = launch.gridDimZ = 1;
  launch.blockDimX = 32;
  launch.blockDimY = launch.blockDimZ = 1;
  launch.kernelParams = parameters;
  OK(cuGraphAddKernelNode_v2(&kernel, graph, &fill, 1, &launch));
  value = 99;  // arguments were copied
  std::vector<unsigned> seen(16);
  CUDA_MEMCPY3D form{};
  form.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  form.srcDevice = words;
  form.dstMemoryType = CU_MEMORYTYPE_HOST;
  form.dstHost = seen.data();
  form.WidthInBytes = 64;
  form.Height = form.Depth = 1;
  OK(cuGraphAddMemcpyNode(&copy, graph, &kernel, 1, &form, gpu.context));
  static int called = 0;
  const CUDA_HOST_NODE_PARAMS call{[](void* data) { called += static_cast<unsigned*>(data)[1] == 11 ? 1 : 100; },
                                   seen.data()};
  OK(cuGraphAddHostNode(&host, graph, &copy, 1, &call));
  OK(cuGraphAddEmptyNode(&empty, graph, nullptr, 0));
  OK(cuGraphAddDependencies(graph, &host, &empty, 1));
  CUgraphExec exec = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS how{};
  OK(cuGraphInstantiateWithParams(&exec, graph, &how));
  OK(cuGraphUpload(exec, s));
  OK(cuGraphLaunch(exec, s));
  OK(cuStreamSynchronize(s));
  EXPECT(seen[0] == 0x5a5a5a5a && seen[1] == 11 && called == 1, "nodes run in the order of their edges");
  value = 12;
  OK(cuGraphExecKernelNodeSetParams_v2(exec, kernel, &launch));
  OK(cuGraphNodeSetEnabled(exec, fill, 0));
  OK(cuMemsetD32Async(words, 0, 16, s));
  OK(cuGraphLaunch(exec, s));
  OK(cuStreamSynchronize(s));
  EXPECT(seen[0] == 0 && seen[1] == 12, "an executable graph takes new arguments, and leaves a disabled node out");
  OK(cuGraphRemoveDependencies(graph, &host, &empty, 1));
  OK(cuGraphAddDependencies(graph, &empty, &fill, 1));
  OK(cuGraphAddDependencies(graph, &host, &empty, 1));
  CUgraphExec cyclic = nullptr;
  GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&cyclic, graph, 0));
  report("{}");
}

CASE("clone-and-update") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  const CUdeviceptr word = gpu.memory(4);
  const CUgraph first = captured(gpu, s, word, 1, 3), second = captured(gpu, s, word, 11, 3),
                longer = captured(gpu, s, word, 21, 4);
  CUgraph copy = nullptr;
  OK(cuGraphClone(&copy, first));
  std::size_t count = 3;
  CUgraphNode nodes[3], twin = nullptr;
  OK(cuGraphGetNodes(first, nodes, &count));
  OK(cuGraphNodeFindInClone(&twin, nodes[2], copy));
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, copy, 0));
  OK(cuGraphLaunch(exec, s));
  OK(cuStreamSynchronize(s));
  EXPECT(word_at(word) == 3, "a clone does what the original does");
  CUgraphExecUpdateResultInfo info{};
  OK(cuGraphExecUpdate_v2(exec, second, &info));
  OK(cuGraphLaunch(exec, s));
  OK(cuStreamSynchronize(s));
  EXPECT(word_at(word) == 13, "an update brings the arguments of the other graph");
  GIVES(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, longer, &info));
  EXPECT(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, "an update says why it is refused");
  OK(cuGraphLaunch(exec, s));
  OK(cuStreamSynchronize(s));
  EXPECT(word_at(word) == 13, "a refused update changes nothing");
  report("{}");
}

CASE("children") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  const CUdeviceptr word = gpu.memory(4);
  CUgraphExec inner = nullptr, outer = nullptr;
  OK(cuGraphInstantiateWithFlags(&inner, captured(gpu, s, word, 1, 2), 0));
  CUgraph graph = nullptr;
  OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  gpu.write(s, 10, word, 50);
  OK(cuGraphLaunch(inner, s));
  OK(cuStreamEndCapture(s, &graph));
  OK(cuGraphInstantiateWithFlags(&outer, graph, 0));
  OK(cuGraphLaunch(outer, s));
  OK(cuStreamSynchronize(s));
  EXPECT(word_at(word) == 2, "a graph launched into a capture runs as a child, in its place");
  report("{}");
}

CASE("words-in-graphs") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  const Word mark, hold;
  CUgraph graph = nullptr;
  CUgraphNode gate = nullptr, kernel = nullptr;
  OK(cuGraphCreate(&graph, 0));
  CUstreamBatchMemOpParams ops[2]{};
  ops[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  ops[0].writeValue.address = mark.device;
  ops[0].writeValue.value = 1;
  ops[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  ops[1].waitValue.address = hold.device;
  ops[1].waitValue.value = 1;
  const CUDA_BATCH_MEM_OP_NODE_PARAMS params{gpu.context, 2, ops, 0};
  OK(cuGraphAddBatchMemOpNode(&gate, graph, nullptr, 0, &params));
  std::uint64_t ns = 1000;
  const CUdeviceptr word = gpu.memory(4);
  unsigned value = 4;
  CUdeviceptr target = word;
  void* parameters[] = {&ns, &target, &value};
  const CUDA_KERNEL_NODE_PARAMS_v2 launch{gpu.store, 1, 1, 1, 32, 1, 1, 0, parameters, nullptr, nullptr, nullptr};
  OK(cuGraphAddKernelNode_v2(&kernel, graph, &gate, 1, &launch));
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphLaunch(exec, s));
  const std::uint64_t limit = nanos() + 10'000'000'000u;
  while (mark.get() != 1 && nanos() < limit) rest(100);
  EXPECT(mark.get() == 1 && !done(s), "a gate node holds the graph in the middle");
  hold.set(1);
  OK(cuStreamSynchronize(s));
  EXPECT(word_at(word) == 4, "and lets it go on");
  report("{}");
}

int main(int count, char** words) { return run_case(count, words); }
