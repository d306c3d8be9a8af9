// A best-effort client at work: held while a request is active, released after, and never for ever.
#include "../fixture.h"

using namespace harness;

namespace {

void held_work_does_not_start() {
  BestEffort client;
  CUstream stream = make_stream();
  Word word;
  client.warm(50, stream);
  client.request_begins();
  client.program.store_us(50, word.device, 1, stream);
  sleep_ms(50);
  expect(*word.host == 0, "nothing runs while a request is active");
  client.request_ends();
  eventually([&] { return *word.host == 1; }, "it runs when the request has ended");
  expect(client.slot().chunks.load() > 0, "borders were put into the stream");
}

// The kernel that counts, as `warm` does for the other.
void learn_store(BestEffort& client, const Word& word, CUstream stream) {
  for (int i = 0; i < 5; ++i) {
    client.program.store_us(50, word.device, 0, stream);
    OK(cuda().cuStreamSynchronize(stream));
  }
}

// The launching thread is not held: it may run ahead while the GPU is held.
void submission_runs_ahead() {
  BestEffort client;
  client.agent.region().settings.progressAfterUs = kMaxProgressUs;
  client.agent.region().settings.progressEveryUs = kMaxProgressUs;
  client.agent.region().settings.submitUs = 100'000;  // on a busy machine kernels seem to take longer
  CUstream stream = make_stream();
  Word word;
  client.warm(50, stream);
  learn_store(client, word, stream);
  client.request_begins();
  for (unsigned i = 1; i <= 60; ++i) client.program.store_us(50, word.device, i, stream);
  expect(*word.host < 30, "60 launches of 50 us are submitted while the GPU is held");
  client.request_ends();
  OK(cuda().cuStreamSynchronize(stream));
}

void release_is_bounded() {
  BestEffort client;
  CUstream stream = make_stream();
  Word word;
  client.warm(50, stream);
  learn_store(client, word, stream);
  for (unsigned i = 1; i <= 100; ++i) client.program.store_us(50, word.device, i, stream);
  eventually([&] { return *word.host >= 5; }, "work is running");
  client.request_begins();
  const unsigned at = *word.host;
  sleep_ms(40);
  const unsigned after = *word.host;
  // A chunk is 200 us: four kernels of 50 us. The estimate may be short of what a busy machine makes of
  // a kernel, and one chunk may be replaced by the next while we look.
  expect(after - at <= 16 + 4, "at most a chunk finishes after the request began, not " + std::to_string(after - at));
  client.request_ends();
  OK(cuda().cuStreamSynchronize(stream));
  expect(*word.host == 100, "all of it ran, in order");
}

void launch_by_launch() {
  BestEffort client;
  client.agent.region().settings.submission = 1;
  CUstream stream = make_stream();
  Word word;
  client.warm(50, stream);
  client.request_begins();
  std::thread launching([&] {
    OK(cuda().cuCtxSetCurrent(client.program.context));
    client.program.store_us(50, word.device, 1, stream);
  });
  sleep_ms(60);
  expect(*word.host == 0, "the launch is held in the calling thread");
  client.request_ends();
  launching.join();
  OK(cuda().cuStreamSynchronize(stream));
  expect(*word.host == 1, "and goes when the request has ended");
  for (int i = 0; i < 200; ++i) client.program.run_us(50, stream);
  OK(cuda().cuStreamSynchronize(stream));
}

// A stream that is left alone with work in it must not count as unfinished for ever.
void abandoned_streams_do_not_stall() {
  for (const unsigned submission : {0u, 1u}) {
    static BestEffort client;
    client.agent.region().settings.submission = submission;
    CUstream busy = make_stream();
    for (int i = 0; i < 6; ++i) client.program.run_us(200, make_stream(), 1 + static_cast<unsigned>(i));
    const std::uint64_t before = now_ms();
    for (int i = 0; i < 100; ++i) client.program.run_us(100, busy);
    OK(cuda().cuStreamSynchronize(busy));
    expect(now_ms() - before < kHangMs, "100 launches of 100 us go on beside streams nobody waits for");
  }
}

// Dynamic shapes: more of them than are kept apart.
void thousands_of_shapes() {
  BestEffort client;
  CUstream stream = make_stream();
  const auto launch = [&](unsigned from, unsigned to) {
    for (unsigned blocks = from; blocks < to; ++blocks) client.program.run_us(2, stream, blocks);
    OK(cuda().cuStreamSynchronize(stream));
  };
  launch(1, 4'500);
  launch(4'500, 4'600);  // by now the kernel is known in no particular shape
  const std::uint64_t before = client.slot().unknownLaunches.load();
  launch(4'600, 5'600);
  const std::uint64_t unknown = client.slot().unknownLaunches.load() - before;
  expect(unknown == 0,
         "a kernel in its 5,000th shape is not unknown, but " + std::to_string(unknown) + " launches were");
}

// The rule of Orion: beside a request only what is small enough, launch by launch.
void small_kernels_run_beside_a_request() {
  BestEffort client;
  auto& settings = client.agent.region().settings;
  settings.submission = 1;
  settings.whenActive = 1;
  settings.smLimit = 20;
  settings.maxKernelUs = 100'000;  // size is what is looked at here
  settings.activeAheadUs = 1'000;
  CUstream stream = make_stream();
  Word word;
  for (int i = 0; i < 8; ++i) {
    client.program.run_us(50, stream, 8);
    OK(cuda().cuStreamSynchronize(stream));
  }
  const std::uint64_t before = now_ms();
  client.request_begins();
  client.program.run_us(50, stream, 8);
  OK(cuda().cuStreamSynchronize(stream));
  expect(client.slot().minProgress.load() == 0, "a kernel of few SMs runs concurrently with the request");
  client.program.run_us(50, stream, 1'000'000);
  expect(now_ms() - before >= 200, "one that needs them all waits, until minimum progress");
  client.request_ends();
  OK(cuda().cuStreamSynchronize(stream));
}

// A kernel that was short at first, and then, in the same shape and with a request in each of its launches, is not.
void durations_are_learned_beside_requests() {
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(20, stream);
  auto& activations = client.agent.page().activations;
  for (int i = 0; i < 300; ++i) {
    client.program.run_us(2'000, stream);
    activations.fetch_add(1);
    OK(cuda().cuStreamSynchronize(stream));
  }
  expect(client.slot().longestNs.load() > 1'900'000, "a kernel that became long is known to be");
  expect(std::strncmp(client.slot().longestName, "spin", 4) == 0, "and is named");
}

void durations_are_learned() {
  BestEffort client;
  CUstream stream = make_stream();
  for (int i = 0; i < 40; ++i) {
    client.program.run_us(3'000, stream);
    OK(cuda().cuStreamSynchronize(stream));
  }
  const double learned = static_cast<double>(client.slot().longestNs.load()) / 1e6;
  expect(learned > 2.9 && learned < 9, "a kernel of 3 ms is known to take about 3 ms, not " + std::to_string(learned));
  expect(client.slot().unknownLaunches.load() < 10, "only the first launches were unknown");
  expect(client.slot().longKernels.load() > 20, "long kernels are counted");
}

void without_high_clients_nothing_is_held() {
  BestEffort client;
  client.agent.region().roster.registered.store(0);
  CUstream stream = make_stream();
  client.request_begins();
  client.program.run_us(100, stream);
  OK(cuda().cuStreamSynchronize(stream));
  expect(client.slot().minProgress.load() == 0 && client.slot().heldNs.load() == 0, "no pause");
  expect(client.slot().chunks.load() == 0, "no borders");
}

void copies_are_cut_and_right() {
  BestEffort client;
  CUdeviceptr memory = 0;
  std::vector<unsigned> out(5 << 20);
  std::vector<unsigned> back(out.size());
  const std::size_t bytes = out.size() * sizeof out[0];
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<unsigned>(i * 2654435761u);
  OK(cuda().cuMemAlloc_v2(&memory, bytes));
  const std::uint64_t before = client.slot().copies.load();
  OK(cuda().cuMemcpyHtoD_v2(memory, out.data(), bytes));
  expect(client.slot().copies.load() - before == 10, "20 MiB go in ten pieces of 2 MiB");
  CUstream stream = make_stream();
  OK(cuda().cuMemcpyDtoHAsync_v2(back.data(), memory, bytes, stream));
  OK(cuda().cuStreamSynchronize(stream));
  expect(back == out, "every byte arrives");
}

void graphs_are_gated_whole() {
  BestEffort client;
  CUstream stream = make_stream();
  Word word;
  CUgraph graph = nullptr;
  CUgraphExec instance = nullptr;
  OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  client.program.store_us(100, word.device, 1, stream);
  client.program.store_us(100, word.device, 2, stream);
  OK(cuda().cuStreamEndCapture(stream, &graph));
  std::size_t nodes = 0;
  OK(cuda().cuGraphGetNodes(graph, nullptr, &nodes));
  expect(nodes == 2, "nothing is added to the graph");
  OK(cuda().cuGraphInstantiateWithFlags(&instance, graph, 0));
  client.request_begins();
  OK(cuda().cuGraphLaunch(instance, stream));
  sleep_ms(30);
  expect(*word.host == 0, "no part of it runs while a request is active");
  client.request_ends();
  OK(cuda().cuStreamSynchronize(stream));
  expect(*word.host == 2, "all of it runs after");
  expect(client.slot().graphs.load() == 1, "it is counted as one graph");
}

constexpr Case kCases[] = {
    {"work submitted while a request is active does not start", held_work_does_not_start},
    {"the launching thread runs ahead while the GPU is held", submission_runs_ahead},
    {"at most a chunk finishes after a request begins", release_is_bounded},
    {"launch-by-launch gating holds the calling thread", launch_by_launch},
    {"streams that nobody waits for do not stall the others", abandoned_streams_do_not_stall},
    {"a kernel in thousands of shapes does not stay unknown", thousands_of_shapes},
    {"small kernels run concurrently with a request where the rules allow it", small_kernels_run_beside_a_request},
    {"durations are learned from a few launches", durations_are_learned},
    {"durations are learned beside requests, too", durations_are_learned_beside_requests},
    {"without high clients nothing is held", without_high_clients_nothing_is_held},
    {"large copies are cut and arrive whole", copies_are_cut_and_right},
    {"a graph is gated whole and nothing is added to it", graphs_are_gated_whole},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
