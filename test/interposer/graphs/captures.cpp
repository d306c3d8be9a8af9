// Captures of a best-effort program: none is broken by calls of ours, and nothing of ours is in one, however it ends.
#include "../fixture.h"

using namespace harness;

namespace {

std::vector<CUgraphNodeType> types_in(CUgraph graph) {
  std::size_t count = 0;
  OK(cuda().cuGraphGetNodes(graph, nullptr, &count));
  std::vector<CUgraphNode> nodes(count);
  std::vector<CUgraphNodeType> types;
  if (count > 0) OK(cuda().cuGraphGetNodes(graph, nodes.data(), &count));
  for (CUgraphNode node : nodes) OK(cuda().cuGraphNodeGetType(node, &types.emplace_back()));
  return types;
}

void holds_kernels(CUgraph graph, std::size_t count) {
  const auto types = types_in(graph);
  expect(types.size() == count, "a graph of " + std::to_string(count) + " nodes, not " + std::to_string(types.size()));
  for (const auto type : types) expect(type == CU_GRAPH_NODE_TYPE_KERNEL, "they are the application's kernels");
}

// Calls that a capture of another thread may forbid are made while other threads begin captures.
void captures_beside_launches() {
  BestEffort client;
  client.agent.region().settings.sampleEvery = 1;  // events around each launch
  client.agent.region().roster.registered = 0;   // and nothing to wait for
  CUstream recording = make_stream(), running = make_stream();
  client.warm(5, running);
  std::atomic<bool> stop{false};
  std::thread launcher([&] {
    OK(cuda().cuCtxSetCurrent(client.program.context));
    // Each in a shape of its own: as long as it is unknown, each launch asks for what was timed.
    for (unsigned i = 0; !stop; ++i) {
      client.program.run_us(1, running, 1 + i % 4000);
      if (i % 64 == 0) usleep(100);
    }
  });
  for (int i = 0; i < 50'000; ++i) {
    CUgraph graph = nullptr;
    OK(cuda().cuStreamBeginCapture_v2(recording, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuda().cuStreamEndCapture(recording, &graph));
    holds_kernels(graph, 0);
    OK(cuda().cuGraphDestroy(graph));
  }
  stop = true;
  launcher.join();
}

void first_use_beside_a_capture() {
  BestEffort client;
  CUstream recording = make_stream(), running = make_stream();
  CUgraph graph = nullptr;
  OK(cuda().cuStreamBeginCapture_v2(recording, CU_STREAM_CAPTURE_MODE_GLOBAL));
  client.program.run_us(1, recording);
  for (int i = 0; i < 40; ++i) client.program.run_us(300, running);
  OK(cuda().cuStreamEndCapture(recording, &graph));
  holds_kernels(graph, 1);
  expect(client.slot().chunks.load() > 0, "there are borders in the stream that is not recorded");
  OK(cuda().cuStreamSynchronize(running));
}

// What was left in a capture, or out of it, by an end that failed, is what the driver says.
void expect_gated(BestEffort& client, CUstream stream) {
  const std::uint64_t chunks = client.slot().chunks.load();
  for (int i = 0; i < 4; ++i) client.program.run_us(300, stream);
  expect(client.slot().chunks.load() > chunks, "borders are put into the stream, which is not recorded any more");
  OK(cuda().cuStreamSynchronize(stream));
}

void a_capture_that_another_thread_ends() {
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(300, stream);
  OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CUgraph graph = nullptr;
  std::thread([&] {
    OK(cuda().cuCtxSetCurrent(client.program.context));
    expect(cuda().cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
           "the other thread may not");
  }).join();
  expect_gated(client, stream);
  expect(cuda().cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS, "there is nothing to end");
}

void a_capture_that_a_branch_ends() {
  BestEffort client;
  CUstream stream = make_stream(), branch = make_stream();
  CUevent forked = make_event();
  CUdeviceptr memory = 0;
  OK(cuda().cuMemAlloc_v2(&memory, 64));
  client.warm(300, branch);
  OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuda().cuEventRecord(forked, stream));
  OK(cuda().cuStreamWaitEvent(branch, forked, 0));
  CUgraph graph = nullptr;
  expect(cuda().cuStreamEndCapture(branch, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "it did not begin there");
  const std::uint64_t chunks = client.slot().chunks.load();
  expect(cuda().cuMemsetD8Async(memory, 0, 64, branch) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
         "the capture is broken");
  expect(client.slot().chunks.load() == chunks, "and nothing of ours is in it");
  expect(cuda().cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "to its end");
  expect_gated(client, branch);
  expect_gated(client, stream);
}

// Before the pages that borders need are registered: they are in time.
void a_capture_whose_stream_goes() {
  BestEffort client;
  CUstream running = make_stream(), recorded = make_stream();
  OK(cuda().cuStreamBeginCapture_v2(recorded, CU_STREAM_CAPTURE_MODE_GLOBAL));
  client.program.run_us(50, recorded);
  OK(cuda().cuStreamDestroy_v2(recorded));
  for (int i = 0; i < 20; ++i) client.program.run_us(300, running);
  OK(cuda().cuStreamSynchronize(running));
  expect(client.slot().chunks.load() > 0, "borders are put in again");
}

// Its work has no mark behind it when another thread finds no room and puts marks into all streams.
void a_stream_that_another_thread_would_mark() {
  BestEffort client;
  client.agent.region().settings.submitUs = 2000;
  CUstream stream = make_stream(), running = make_stream();
  client.warm(300, running);
  client.warm(50, stream);
  std::atomic<bool> stop{false};
  std::thread launcher([&] {
    OK(cuda().cuCtxSetCurrent(client.program.context));
    while (!stop) client.program.run_us(300, running);
  });
  for (int i = 0; i < 4000; ++i) {
    CUgraph graph = nullptr;
    client.program.run_us(50, stream);  // what is open now
    OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    client.program.run_us(50, stream);
    sched_yield();
    OK(cuda().cuStreamEndCapture(stream, &graph));
    holds_kernels(graph, 1);
    OK(cuda().cuGraphDestroy(graph));
  }
  stop = true;
  launcher.join();
}

constexpr Case kCases[] = {
    {"launches in other streams break no capture", captures_beside_launches},
    {"what we set up beside a capture does not break it", first_use_beside_a_capture},
    {"a capture that another thread ends is over", a_capture_that_another_thread_ends},
    {"a capture that a branch ends is broken until its end", a_capture_that_a_branch_ends},
    {"a capture whose stream was destroyed is over", a_capture_whose_stream_goes},
    {"no thread's mark gets into another's capture", a_stream_that_another_thread_would_mark},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
