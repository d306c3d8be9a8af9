// A high client's threads, streams and contexts: when it is busy does not depend on which of them it uses.
#include "../fixture.h"

using namespace harness;

namespace {

void overlapping_threads() {
  High high;
  std::atomic<int> finished{0};
  const auto serve = [&](std::uint64_t us, int requests) {
    OK(cuda().cuCtxSetCurrent(high.program.context));
    CUstream stream = make_stream();
    for (int i = 0; i < requests; ++i) {
      high.program.run_us(us, stream, 8);
      high.busy("in a thread whose own request runs");
      OK(cuda().cuStreamSynchronize(stream));
    }
    finished.fetch_add(1);
  };
  std::thread a(serve, 3'000, 30);
  std::thread b(serve, 1'700, 50);
  std::thread c(serve, 400, 100);
  a.join();
  b.join();
  c.join();
  expect(finished.load() == 3, "all threads finished");
  high.idle("after all threads' requests ended");
  expect(high.agent.region().high[0].launches.load() == 180, "every launch counted once");
}

void per_thread_streams() {
  High high;
  std::uint64_t ns = 20'000'000;
  void* parameters[] = {&ns};
  OK(cuda().cuLaunchKernel_ptsz(high.program.spin, 8, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
  high.busy("after a launch on this thread's default stream");
  std::thread([&] {
    OK(cuda().cuCtxSetCurrent(high.program.context));
    OK(cuda().cuStreamSynchronize_ptsz(nullptr));
    high.busy("after another thread synchronised its own default stream");
  }).join();
  OK(cuda().cuStreamSynchronize_ptsz(nullptr));
  high.idle("after this thread synchronised its default stream");
}

void joined_streams() {
  High high;
  CUstream main_stream = make_stream();
  CUstream side = make_stream();
  CUevent joined = make_event();
  high.program.run_us(10'000, side);
  OK(cuda().cuEventRecord(joined, side));
  OK(cuda().cuStreamWaitEvent(main_stream, joined, 0));
  high.program.run_us(1'000, main_stream);
  OK(cuda().cuStreamSynchronize(main_stream));
  high.idle("after the stream that waited for the other was seen complete");
  high.program.run_us(1'000, side);
  high.program.run_us(30'000, main_stream);
  OK(cuda().cuEventRecord(joined, side));
  OK(cuda().cuStreamSynchronize(side));
  high.busy("after the side stream only was seen complete");
  OK(cuda().cuStreamSynchronize(main_stream));
  high.idle("after both");
}

void host_function() {
  High high;
  CUstream stream = make_stream();
  std::atomic<bool> called{false};
  high.program.run_us(5'000, stream);
  OK(cuda().cuLaunchHostFunc(stream, [](void* data) { *static_cast<std::atomic<bool>*>(data) = true; }, &called));
  eventually([&] { return called.load(); }, "the application's host function is called");
  high.idle("once a host function behind the work has run");
}

// A server that makes a stream for each request, for years.
void streams_come_and_go() {
  High high;
  high.agent.region().settings.startupTimeoutUs = 0;  // nothing here is looked at for long
  std::uint64_t requests = 0;
  const auto& given_up = high.agent.region().high[0].timeouts;
  for (int round = 0; round < 6; ++round) {
    std::vector<CUstream> streams(900);
    // Some stay for a while, so that handles are not always the same ones.
    for (std::size_t i = 0; i < streams.size(); ++i) {
      streams[i] = make_stream(i % 3 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
      if (i % 2) continue;
      OK(cuda().cuStreamDestroy_v2(streams[i]));
      streams[i] = make_stream();
    }
    for (CUstream stream : streams) {
      const std::uint64_t before = given_up.load();
      high.program.run_us(1, stream, 1);
      // A thread that the machine stops here for long is taken for one that observes nothing.
      expect(high.active() || given_up.load() > before, "busy on every stream, however many there have been");
      OK(cuda().cuStreamSynchronize(stream));
      high.idle("after each");
      ++requests;
    }
    for (CUstream stream : streams) OK(cuda().cuStreamDestroy_v2(stream));
  }
  expect(high.bursts() + given_up.load() == requests, "every request was a burst");
}

void contexts_come_and_go() {
  High high;
  high.agent.region().settings.startupTimeoutUs = 0;  // nothing here is looked at for long
  for (int i = 0; i < 200; ++i) {
    CUcontext own = nullptr;
    OK(cuda().cuCtxCreate_v2(&own, 0, 0));
    CUdeviceptr memory = 0;
    OK(cuda().cuMemAlloc_v2(&memory, 4096));
    OK(cuda().cuMemsetD8_v2(memory, 1, 4096));
    high.busy("after a fill in a context of its own");
    OK(cuda().cuCtxSynchronize());
    high.idle("after that context was synchronised");
    OK(cuda().cuMemFree_v2(memory));
    OK(cuda().cuCtxDestroy_v2(own));
  }
}

constexpr Case kCases[] = {
    {"threads with overlapping requests keep the client busy until the last", overlapping_threads},
    {"per-thread default streams are distinguished by thread", per_thread_streams},
    {"a stream that waited for another's event shows both complete", joined_streams},
    {"a host function shows completion of what is before it", host_function},
    {"a new stream for each request, thousands of times, is seen every time", streams_come_and_go},
    {"contexts made and destroyed for ever are seen every time", contexts_come_and_go},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
