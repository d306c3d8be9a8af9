// Threads that the program cancels while their launches are held.
#include <pthread.h>

#include "../fixture.h"

using namespace harness;

namespace {

struct Cancelled {
  BestEffort client;
  CUstream stream = make_stream();
  CUgraphExec graph = nullptr;

  Cancelled() {
    client.warm(200, stream);
    CUgraph captured = nullptr;
    OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < 50; ++i) client.program.run_us(200, stream);
    OK(cuda().cuStreamEndCapture(stream, &captured));
    OK(cuda().cuGraphInstantiateWithFlags(&graph, captured, 0));
    OK(cuda().cuGraphLaunch(graph, stream));
    OK(cuda().cuStreamSynchronize(stream));
  }

  // Launches until it is cancelled. The software GPU has cancellation points of its own, so only held launches meet one.
  void cancel(void* (*launches)(void*)) {
    client.request_begins();
    pthread_t thread;
    expect(pthread_create(&thread, nullptr, launches, this) == 0, "a thread starts");
    sleep_ms(100);
    pthread_cancel(thread);
    client.request_ends();
    pthread_join(thread, nullptr);
  }
  // Each launch into a stream that stays taken takes a minute; each graph behind a launch that stays in call, 5 s.
  void expect_prompt() {
    const std::uint64_t began = now_ms();
    for (int i = 0; i < 4; ++i) {
      OK(cuda().cuGraphLaunch(graph, stream));
      client.program.run_us(200, stream);
    }
    OK(cuda().cuStreamSynchronize(stream));
    expect(now_ms() - began < 15'000, "later launches are not waited for");
  }
};

void in_a_launch() {
  Cancelled it;
  it.cancel([](void* of) -> void* {
    auto& own = *static_cast<Cancelled*>(of);
    OK(cuda().cuCtxSetCurrent(own.client.program.context));
    for (;;) {
      own.client.program.run_us(200, own.stream);
      pthread_testcancel();
    }
  });
  it.expect_prompt();
}

void in_a_graph() {
  Cancelled it;
  it.cancel([](void* of) -> void* {
    auto& own = *static_cast<Cancelled*>(of);
    OK(cuda().cuCtxSetCurrent(own.client.program.context));
    for (;;) {
      OK(cuda().cuGraphLaunch(own.graph, own.stream));
      pthread_testcancel();
    }
  });
  it.expect_prompt();
}

constexpr Case kCases[] = {
    {"a thread that is cancelled in a held launch leaves its stream as it was", in_a_launch},
    {"so does one in the launch of a graph", in_a_graph},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
