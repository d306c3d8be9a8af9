// Ends of work that no table knows: of events that a graph records, of streams that are destroyed with work in them.
#include "../fixture.h"

using namespace harness;

namespace {

constexpr std::uint64_t kLongUs = 300'000;

struct Service : High {
  CUstream one = make_stream();
  CUstream other = make_stream();
  CUevent event = make_event();
};

// Graphs that record the event when they are launched.
CUgraphExec by_node(Service& it) {
  CUgraph graph = nullptr;
  CUgraphExec made = nullptr;
  CUgraphNode node = nullptr;
  OK(cuda().cuGraphCreate(&graph, 0));
  OK(cuda().cuGraphAddEventRecordNode(&node, graph, nullptr, 0, it.event));
  OK(cuda().cuGraphInstantiateWithFlags(&made, graph, 0));
  return made;
}

CUgraphExec by_capture(Service& it) {
  CUgraph graph = nullptr;
  CUgraphExec made = nullptr;
  OK(cuda().cuStreamBeginCapture_v2(it.other, CU_STREAM_CAPTURE_MODE_RELAXED));
  it.program.run_us(1'000, it.other);
  OK(cuda().cuEventRecordWithFlags(it.event, it.other, CU_EVENT_RECORD_EXTERNAL));
  OK(cuda().cuStreamEndCapture(it.other, &graph));
  OK(cuda().cuGraphInstantiateWithFlags(&made, graph, 0));
  return made;
}

void recorded_again_by_a_graph() {
  Service it;
  for (const auto make : {by_node, by_capture}) {
    CUgraphExec graph = make(it);
    CUevent end = make_event();
    it.program.run_us(kLongUs, it.one);
    OK(cuda().cuEventRecord(it.event, it.one));
    OK(cuda().cuEventRecord(end, it.one));
    OK(cuda().cuGraphLaunch(graph, it.other));
    OK(cuda().cuEventSynchronize(it.event));
    OK(cuda().cuStreamSynchronize(it.other));
    const bool held = it.active();
    expect(held || cuda().cuEventQuery(end) == CUDA_SUCCESS, "held though the event behind it is over once more");
    OK(cuda().cuStreamSynchronize(it.one));
    it.idle("at the end");
  }
}

void event_of_a_graph() {
  Service it;
  CUgraphExec graph = by_capture(it);
  for (int i = 0; i < 5; ++i) {
    OK(cuda().cuGraphLaunch(graph, it.one));
    it.busy("while the graph runs");
    OK(cuda().cuEventSynchronize(it.event));
    // The driver may need a moment to see that nothing follows the event in the stream.
    while (cuda().cuEventQuery(it.event) != CUDA_SUCCESS || it.active()) usleep(50);
  }
  expect(it.bursts() == 5, "each is one burst, not " + std::to_string(it.bursts()));
}

void behind_many_events() {
  Service it;
  std::vector<CUevent> many(12'000);
  for (CUevent& each : many) each = make_event();
  it.program.run_us(1'000, it.one);
  OK(cuda().cuEventRecord(it.event, it.one));
  for (CUevent each : many) OK(cuda().cuEventRecord(each, it.one));
  OK(cuda().cuEventSynchronize(it.event));
  it.idle("when an event is over that was recorded before 12,000 others");
  for (CUevent each : many) OK(cuda().cuEventDestroy_v2(each));
}

void destroyed_with_work() {
  Service it;
  CUstream short_lived = make_stream();
  Word word;
  it.program.store_us(kLongUs, word.device, 1, short_lived);
  OK(cuda().cuStreamDestroy_v2(short_lived));
  const bool held = it.active();
  expect(held || *word.host == 1, "held for a kernel whose stream was destroyed");
  // Others may get its handle meanwhile.
  for (int i = 0; i < 5; ++i) {
    CUstream next = make_stream();
    it.program.run_us(10, next);
    OK(cuda().cuStreamSynchronize(next));
    const bool still = it.active();
    expect(still || *word.host == 1, "and for as long as it runs");
    OK(cuda().cuStreamDestroy_v2(next));
  }
  eventually([&] { return !it.active(); }, "best-effort work goes on");
  expect(*word.host == 1, "when it is done");
}

constexpr Case kCases[] = {
    {"an event that a graph records again says nothing of what it was recorded behind", recorded_again_by_a_graph},
    {"an event that only a graph records shows what is done", event_of_a_graph},
    {"an event is known though 12,000 were recorded after it", behind_many_events},
    {"a stream that is destroyed with work in it holds until that is done", destroyed_with_work},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
