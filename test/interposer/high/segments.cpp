// Segments: the work that each observed completion of a high client shows to be done (native/interposer/state/segment.h).
#include <thread>

#include "waiting.h"

using namespace harness;

namespace {

constexpr std::uint64_t kStepUs = 20'000;

struct Record {
  std::uint64_t begin, end, waited, submissions, nodes;
  bool main;
};

// An engine that queues step N + 1 before it reads the tokens of step N: a stream that computes, one that copies out.
struct Engine : Waiting {
  CUstream compute = make_stream();
  CUstream copies = make_stream();
  CUgraphExec graph = nullptr;
  CUdeviceptr device = 0;
  void* host = nullptr;

  static constexpr unsigned kNodes = 40;
  static constexpr unsigned kSampling = 3;

  Engine() {
    OK(cuda().cuMemAlloc_v2(&device, 4096));
    OK(cuda().cuMemHostAlloc(&host, 4096, 0));
    graph = graph_of(kNodes, kStepUs);
  }

  CUgraphExec graph_of(unsigned nodes, std::uint64_t us) {
    CUgraph captured = nullptr;
    CUgraphExec made = nullptr;
    OK(cuda().cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (unsigned i = 0; i < nodes; ++i) program.run_us(us / nodes, compute);
    OK(cuda().cuStreamEndCapture(compute, &captured));
    OK(cuda().cuGraphInstantiateWithFlags(&made, captured, 0));
    return made;
  }

  struct Step {
    CUevent inputs;
    CUevent out;
  };

  // One copy in, `kernels` kernels or the graph, sampling, and a copy out on the other stream.
  Step submit(unsigned kernels = 0) {
    const Step step{make_event(), make_event()};
    OK(cuda().cuMemcpyHtoDAsync_v2(device, host, 4096, compute));
    OK(cuda().cuEventRecord(step.inputs, compute));
    for (unsigned i = 0; i < kernels; ++i) program.run_us(kStepUs / kernels, compute);
    if (kernels == 0) OK(cuda().cuGraphLaunch(graph, compute));
    for (unsigned i = 0; i < kSampling; ++i) program.run_us(1, compute);
    const CUevent done = make_event();
    OK(cuda().cuEventRecord(done, compute));
    OK(cuda().cuStreamWaitEvent(copies, done, 0));
    OK(cuda().cuMemcpyDtoHAsync_v2(host, device, 64, copies));
    OK(cuda().cuEventRecord(step.out, copies));
    return step;
  }

  std::vector<Record> records() {
    const std::uint64_t count = slot().segments.load();
    std::vector<Record> read;
    for (std::uint64_t n = 0; n < count; ++n) {
      const auto* words = &slot().segmentRecords[n % cotenant::protocol::SEGMENT_RECORDS * 4];
      const std::uint64_t counts = words[3].load();
      constexpr std::uint64_t kMask = (1u << cotenant::protocol::SEGMENT_NODES_SHIFT) - 1;
      read.push_back({words[0].load(), words[1].load(), words[2].load(), counts & kMask,
                      counts >> cotenant::protocol::SEGMENT_NODES_SHIFT & kMask,
                      (counts >> cotenant::protocol::SEGMENT_MAIN_SHIFT) != 0});
    }
    return read;
  }
  std::uint64_t age_us() { return (now_ns() - agent.page().high[0].burstSince.load()) / 1000; }
};

void queued_steps() {
  Engine engine;
  constexpr unsigned kSteps = 8;
  Engine::Step now = engine.submit();
  for (unsigned i = 0; i < kSteps; ++i) {
    const Engine::Step next = engine.submit();
    OK(cuda().cuEventSynchronize(now.out));
    OK(cuda().cuEventSynchronize(next.inputs));
    now = next;
  }
  expect(engine.bursts() == 0 && engine.active(), "the burst never ended");
  const std::vector<Record> records = engine.records();
  std::uint64_t mains = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& one = records[i];
    expect(i == 0 || one.begin == records[i - 1].end, "each begins where the one before ended");
    expect(one.end >= one.begin && one.waited <= one.end - one.begin, "it waits no longer than it lasts");
    if (!one.main) {
      expect(one.nodes == 0 && one.submissions <= 3, "inputs alone are no step");
      continue;
    }
    ++mains;
    expect(one.nodes == Engine::kNodes, "a step has the nodes of one graph, not " + std::to_string(one.nodes));
    expect(one.submissions >= 1 + Engine::kSampling, "and what is launched with it");
    expect(one.submissions <= 8, "but nothing of the next step");
  }
  expect(mains == kSteps, "each step ends once, not " + std::to_string(mains));
}

// Two threads observe: one the inputs, which come after the step before in stream order, one the results.
void inputs_seen_first() {
  Engine engine;
  constexpr unsigned kSteps = 5;
  Engine::Step now = engine.submit();
  for (unsigned i = 0; i < kSteps; ++i) {
    const Engine::Step next = engine.submit();
    OK(cuda().cuEventSynchronize(next.inputs));
    OK(cuda().cuEventSynchronize(now.out));
    now = next;
  }
  std::uint64_t mains = 0;
  std::uint64_t nodes = 0;
  for (const Record& one : engine.records()) {
    mains += one.main ? 1 : 0;
    nodes += one.nodes;
  }
  expect(mains == kSteps && nodes == kSteps * Engine::kNodes, "each step ends once, whoever sees it first");
}

void age_counts_from_step() {
  Engine engine;
  auto& settings = engine.agent.region().settings;
  settings.coRunEveryUs = 1'000;
  settings.coRunSliceUs = 1'000;
  settings.coRunUntilUs = 5'000'000;
  settings.coRunUntilLaunches = 20;
  Engine::Step now = engine.submit();
  sleep_ms(30);
  expect(engine.age_us() >= 30'000, "a burst ages from its start");
  Engine::Step next = engine.submit();
  OK(cuda().cuEventSynchronize(now.out));
  expect(engine.age_us() < 25'000, "what is queued behind a step is as young as the step's end");
  now = next;
  next = engine.submit(30);
  OK(cuda().cuEventSynchronize(now.out));
  expect(engine.age_us() >= 5'000'000, "a step that has launched much is old before it runs");
  now = next;
  next = engine.submit();
  OK(cuda().cuEventSynchronize(now.out));
  expect(engine.age_us() < 1'000'000, "and the one behind it is young again");
  for (int i = 0; i < 20; ++i) engine.program.run_us(1, engine.compute);
  expect(engine.age_us() >= 5'000'000, "until it has launched as much");
}

// One step stays queued when there are no more requests, and nobody waits for it.
void leaves_a_step() {
  Engine engine;
  Engine::Step now = engine.submit();
  for (unsigned i = 0; i < 15; ++i) {
    const Engine::Step next = engine.submit();
    OK(cuda().cuEventSynchronize(now.out));
    now = next;
  }
  engine.busy("while a step is queued");
  eventually([&] { return !engine.active(); }, "best-effort work goes on when that step should be done");
  expect(engine.slot().timeouts.load() == 0, "which is nothing that went wrong");
  now = engine.submit();
  engine.busy("with the next request");
  OK(cuda().cuEventSynchronize(now.out));
  engine.idle("and it ends as ever");
}

void waits_for_a_long_step() {
  Engine engine;
  Engine::Step now = engine.submit();
  for (unsigned i = 0; i < 15; ++i) {
    const Engine::Step next = engine.submit();
    OK(cuda().cuEventSynchronize(now.out));
    now = next;
  }
  OK(cuda().cuEventSynchronize(now.out));
  const Engine::Step first = engine.submit();
  // Longer than a step that is left counts, and shorter than the time without progress after which a client shares the GPU.
  for (unsigned i = 0; i < 5; ++i) engine.program.run_us(32'000, engine.compute);
  const Engine::Step last = engine.submit();
  std::atomic<bool> begun{false};
  std::atomic<bool> done{false};
  std::thread waits([&] {
    OK(cuda().cuCtxSetCurrent(engine.program.context));
    begun = true;
    OK(cuda().cuEventSynchronize(last.out));
    done = true;
  });
  while (!begun) sleep_ms(1);
  OK(cuda().cuEventSynchronize(first.out));
  while (!done) {
    const bool active = engine.active();
    expect(active || cuda().cuEventQuery(last.out) == CUDA_SUCCESS,
           "a step that a thread waits for holds, however long it takes");
    sleep_ms(1);
  }
  waits.join();
}

// A program that looks at each result before it goes on: a segment is a burst.
void bursts() {
  Waiting high;
  CUstream stream = make_stream();
  for (int i = 0; i < 5; ++i) {
    high.program.run_us(1'000, stream);
    high.program.run_us(1'000, stream);
    OK(cuda().cuStreamSynchronize(stream));
  }
  auto& slot = high.slot();
  expect(slot.segments.load() == slot.bursts.load(), "one segment a burst");
  for (unsigned n = 0; n < 5; ++n) {
    expect(slot.segmentRecords[n * 4].load() == slot.burstRecords[n * 4].load(), "with the same start");
    expect((slot.segmentRecords[n * 4 + 3].load() & 0xffffff) == 2, "and its two kernels");
  }
}

constexpr Case kCases[] = {
    {"each step of a program that queues ahead is a segment", queued_steps},
    {"a step ends once, whichever of two threads sees its end first", inputs_seen_first},
    {"a request's age counts from the end of its last step, and a step that launches much is old",
     age_counts_from_step},
    {"a step that nobody waits for holds only as long as it should take", leaves_a_step},
    {"a step that a thread waits for holds for its whole length", waits_for_a_long_step},
    {"without work queued ahead a segment is a burst", bursts},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
