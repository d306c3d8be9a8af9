// A high client: when it is busy, and when it is not.
#include <algorithm>

#include "../fixture.h"

using namespace harness;

namespace {

void launch_then_synchronize() {
  High high;
  CUstream stream = make_stream();
  high.idle("before anything was submitted");
  high.program.run_us(20'000, stream);
  high.busy("after a launch");
  OK(cuda().cuStreamSynchronize(stream));
  high.idle("after the stream was synchronised");
  expect(high.bursts() == 1, "one burst");
  expect(high.agent.region().high[0].launches.load() == 1, "one launch counted");
  const auto& histogram = high.agent.region().high[0].histogram;
  std::uint64_t total = 0;
  for (const auto& bucket : histogram) total += bucket.load();
  expect(total == 1, "one burst in the histogram");
  expect(high.agent.region().high[0].busyNs.load() >= 19'000'000, "the burst lasted as long as the kernel");
}

// A server that submits step N+1 before it waits for step N is busy all the time.
void pipelined_steps() {
  High high;
  CUstream stream = make_stream();
  CUevent first = make_event();
  high.program.run_us(10'000, stream);
  OK(cuda().cuEventRecord(first, stream));
  high.program.run_us(40'000, stream);
  OK(cuda().cuEventSynchronize(first));
  high.busy("after step 1 was seen complete, because step 2 had been submitted");
  OK(cuda().cuStreamSynchronize(stream));
  high.idle("after step 2 was seen complete");
  expect(high.bursts() == 1, "both steps are one burst");
}

void event_polling() {
  High high;
  CUstream stream = make_stream();
  CUevent done = make_event();
  high.program.run_us(20'000, stream);
  OK(cuda().cuEventRecord(done, stream));
  int asked = 0;
  while (cuda().cuEventQuery(done) == CUDA_ERROR_NOT_READY) {
    if (asked++ == 0) high.busy("while the event is not ready");
    usleep(200);
  }
  expect(asked > 0, "the event was not ready at once");
  high.idle("after the event was seen ready");
}

void stream_query() {
  High high;
  CUstream stream = make_stream();
  high.program.run_us(20'000, stream);
  expect(cuda().cuStreamQuery(stream) == CUDA_ERROR_NOT_READY, "the stream is not ready at once");
  high.busy("after a query that said no");
  while (cuda().cuStreamQuery(stream) != CUDA_SUCCESS) usleep(200);
  high.idle("after a query that said yes");
}

void synchronous_copies() {
  High high;
  CUdeviceptr memory = 0;
  std::vector<char> host(1 << 20);
  OK(cuda().cuMemAlloc_v2(&memory, host.size()));
  OK(cuda().cuMemcpyHtoD_v2(memory, host.data(), host.size()));
  high.busy("after a copy to the device, whose end nobody has seen");
  high.program.run_us(10'000, nullptr);
  OK(cuda().cuMemcpyDtoH_v2(host.data(), memory, host.size()));
  high.idle("after a synchronous copy to the host");
  CUstream blocking = make_stream(CU_STREAM_DEFAULT);
  high.program.run_us(10'000, blocking);
  high.busy("after a launch on a blocking stream");
  OK(cuda().cuMemcpyDtoH_v2(host.data(), memory, 16));
  high.idle("after a synchronous copy on the legacy stream, which waits for the blocking one");
  CUstream independent = make_stream();
  high.program.run_us(30'000, independent);
  OK(cuda().cuMemcpyDtoH_v2(host.data(), memory, 16));
  high.busy("after the same copy, while a non-blocking stream still works");
  OK(cuda().cuCtxSynchronize());
  high.idle("after the context was synchronised");
}

void generic_copy_to_host() {
  High high;
  CUdeviceptr memory = 0;
  std::vector<char> host(4096);
  OK(cuda().cuMemAlloc_v2(&memory, host.size()));
  high.program.run_us(5'000, nullptr);
  OK(cuda().cuMemcpy(reinterpret_cast<CUdeviceptr>(host.data()), memory, host.size()));
  high.idle("after a copy without a direction that ended on the host");
}

// No driver call reports the end: the application looks at memory. The last resort ends the first
// bursts; then sequence words show the ends.
void polled_word() {
  High high;
  high.agent.region().settings.startupTimeoutUs = 0;  // or the first requests, which nobody sees end, take turns
  CUstream stream = make_stream();
  void* host = nullptr;
  OK(cuda().cuMemAllocHost_v2(&host, 4096));
  auto* word = static_cast<std::atomic<unsigned>*>(host);
  auto& slot = high.agent.region().high[0];
  CUgraph graph = nullptr;
  CUgraphExec instance = nullptr;
  OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  high.program.store_us(2'000, reinterpret_cast<CUdeviceptr>(host), 1, stream);
  OK(cuda().cuStreamEndCapture(stream, &graph));
  OK(cuda().cuGraphInstantiateWithFlags(&instance, graph, 0));
  for (int request = 0; request < 3; ++request) {
    *word = 0;
    OK(cuda().cuGraphLaunch(instance, stream));
    high.busy("after a graph launch");
    eventually([&] { return *word == 1; }, "the kernel writes its word");
    eventually([&] { return !high.active(); }, "the last resort ends a burst that nobody observes");
  }
  expect(slot.timeouts.load() >= 2, "the last resort was used for the first bursts");
  const std::uint64_t before = slot.timeouts.load();
  for (int request = 0; request < 5; ++request) {
    *word = 0;
    OK(cuda().cuGraphLaunch(instance, stream));
    eventually([&] { return *word == 1; }, "the kernel writes its word");
    eventually([&] { return !high.active(); }, "a sequence word ends the burst");
  }
  expect(slot.timeouts.load() == before, "once sequence words are in use the last resort is not needed");
  expect(slot.tailWrites.load() >= 5, "sequence words were written");
}

void long_graph() {
  High high;
  high.agent.region().settings.startupTimeoutUs = 0;  // nothing here is looked at for long
  CUstream stream = make_stream();
  CUgraph graph = nullptr;
  CUgraphExec instance = nullptr;
  OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int i = 0; i < 30; ++i) high.program.run_us(10'000, stream);
  OK(cuda().cuStreamEndCapture(stream, &graph));
  high.idle("after a capture: nothing runs");
  OK(cuda().cuGraphInstantiateWithFlags(&instance, graph, 0));
  OK(cuda().cuGraphLaunch(instance, stream));
  for (int i = 0; i < 20; ++i) {
    high.busy("while a long graph runs");
    sleep_ms(10);
  }
  OK(cuda().cuStreamSynchronize(stream));
  high.idle("after the graph was seen complete");
  expect(high.agent.region().high[0].timeouts.load() == 0, "the last resort was not used");
}

// The work of the first stream is done, but the program never asks.
void forgotten_stream() {
  High high;
  CUstream forgotten = make_stream();
  CUstream stream = make_stream();
  high.program.run_us(10, forgotten);
  const auto request = [&] {
    high.program.run_us(5'000, stream);
    OK(cuda().cuStreamSynchronize(stream));
    sleep_ms(1);
  };
  eventually([&] { return request(), !high.active(); }, "requests end although a stream was forgotten");
  expect(high.agent.region().high[0].timeouts.load() >= 1, "a forgotten stream is counted");
  const std::uint64_t before = high.bursts();
  for (int i = 0; i < 10; ++i) request();
  expect(high.bursts() == before + 10, "each of the requests after it is a burst");
}

// Another stream's work ends meanwhile, again and again.
void long_work_beside_requests() {
  High high;
  CUstream steps = make_stream();
  CUstream stream = make_stream();
  high.program.run_us(400'000, steps);
  while (cuda().cuStreamQuery(steps) == CUDA_ERROR_NOT_READY) {
    high.program.run_us(1'000, stream);
    OK(cuda().cuStreamSynchronize(stream));
    high.busy("while the long kernel runs");
    sleep_ms(5);
  }
  high.idle("after it was seen complete");
  high.program.run_us(2'000'000, steps);
  while (cuda().cuStreamQuery(steps) == CUDA_ERROR_NOT_READY) {
    high.program.run_us(1'000, stream);
    OK(cuda().cuStreamSynchronize(stream));
    high.busy("while a longer one runs, because the stream is known for long kernels");
    sleep_ms(5);
  }
  expect(high.bursts() == 2, "two bursts");
}

void capture_is_left_alone() {
  High high;
  CUstream stream = make_stream();
  CUgraph graph = nullptr;
  CUevent inside = make_event();
  OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int i = 0; i < 7; ++i) high.program.run_us(10, stream);
  OK(cuda().cuEventRecord(inside, stream));
  OK(cuda().cuStreamEndCapture(stream, &graph));
  std::size_t nodes = 0;
  OK(cuda().cuGraphGetNodes(graph, nullptr, &nodes));
  expect(nodes == 7, "the graph holds the application's 7 kernels and nothing else, not " + std::to_string(nodes));
  high.idle("after a capture");
  expect(high.agent.region().high[0].launches.load() == 0, "captured launches are not counted");
}

void kernel_need_is_published() {
  High high;
  CUstream stream = make_stream();
  auto& published = high.agent.page().highKernel;
  high.program.run_us(10, stream, 8);
  expect(published.load() == 0, "nothing is published unless the policy asks");
  high.agent.region().settings.wantKernels = 1;
  int per_sm = 0;
  OK(cuda().cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, high.program.spin, 128, 0));
  const auto fit = static_cast<unsigned>(per_sm);
  for (const unsigned blocks : {1u, fit, fit + 1, 1'000'000u}) {
    high.program.run_us(10, stream, blocks);
    const unsigned needed = std::min((blocks + fit - 1) / fit, 132u);
    expect(published.load() == needed, std::to_string(blocks) + " blocks need " + std::to_string(needed) +
                                           " SMs, not " + std::to_string(published.load()));
  }
  OK(cuda().cuStreamSynchronize(stream));
}

// The agent is one connection; its region may be damaged at any time.
void noise_in_memory() {
  High high;
  CUstream stream = make_stream();
  auto* bytes = reinterpret_cast<unsigned char*>(&high.agent.region());
  unsigned seed = 1;
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < sizeof(Region); i += 1 + static_cast<unsigned>(rand_r(&seed)) % 64)
      __atomic_store_n(bytes + i, static_cast<unsigned char>(rand_r(&seed)), __ATOMIC_RELAXED);
    const std::uint64_t before = now_ms();
    high.program.run_us(100, stream);
    OK(cuda().cuStreamSynchronize(stream));
    expect(now_ms() - before < kHangMs, "a request ends whatever shared memory holds");
  }
}

void agent_that_never_answers() {
  // A socket that accepts and stays silent.
  const std::string path = socket_path();
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path.c_str());
  expect(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && listen(listener, 8) == 0,
         "a socket");
  setenv("COTENANT_CLASS", "high", 1);
  setenv("COTENANT_SOCKET", path.c_str(), 1);
  const std::uint64_t before = now_ms();
  Program program;
  CUstream stream = make_stream();
  program.run_us(100, stream);
  OK(cuda().cuStreamSynchronize(stream));
  expect(now_ms() - before < kHangMs, "a high client starts though the agent hangs");
  unlink(path.c_str());
}

void refused_high_client_runs() {
  Agent agent;
  agent.status = cotenant::protocol::WelcomeStatus::kFull;
  agent.reason = "all 32 slots are taken.";
  agent.become("high");
  Program program;
  CUstream stream = make_stream();
  program.run_us(100, stream);
  OK(cuda().cuStreamSynchronize(stream));
}

constexpr Case kCases[] = {
    {"a launch makes the client busy and a stream synchronise ends it", launch_then_synchronize},
    {"a step submitted before the last one is awaited keeps the client busy", pipelined_steps},
    {"an event seen ready by polling ends the burst", event_polling},
    {"a stream query that says yes ends the burst", stream_query},
    {"a copy to the device makes busy, a synchronous copy to the host ends it", synchronous_copies},
    {"a copy without a direction ends the burst when it ends on the host", generic_copy_to_host},
    {"a client that polls a pinned word is idle soon after its work", polled_word},
    {"a graph longer than any idle guess stays busy to its end", long_graph},
    {"a stream that the program never looks at does not keep it busy while it serves requests", forgotten_stream},
    {"long work concurrent with requests of another stream stays busy to its end", long_work_beside_requests},
    {"nothing is added to a captured graph", capture_is_left_alone},
    {"the SM need of the latest kernel is published when the policy asks", kernel_need_is_published},
    {"noise in shared memory never stops a high client", noise_in_memory},
    {"a high client starts though the agent never answers", agent_that_never_answers},
    {"a high client that finds no slot runs all the same", refused_high_client_runs},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
