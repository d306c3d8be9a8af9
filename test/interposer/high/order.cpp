// Calls that show work of several streams to be done: through the legacy stream, which waits for the blocking ones, for a whole
// context, and in a stream that waits for others.
#include "../fixture.h"

using namespace harness;

namespace {

constexpr std::uint64_t kUs = 1'000;
constexpr std::uint64_t kLongUs = 300'000;

struct Blocking : High {
  CUstream one = make_stream(0);
  CUstream other = make_stream(0);
  CUevent event = make_event();

  void launch(CUstream stream) {
    program.run_us(kUs, stream);
    busy("while a kernel runs");
  }
};

void null_stream_synchronised() {
  Blocking it;
  it.launch(it.one);
  OK(cuda().cuStreamSynchronize(nullptr));
  it.idle("when the NULL stream was synchronised");
}

void null_stream_queried() {
  Blocking it;
  it.launch(it.one);
  while (cuda().cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY) usleep(50);
  it.idle("when the NULL stream was found done");
}

void event_in_null_stream() {
  Blocking it;
  it.launch(it.one);
  it.launch(it.other);
  OK(cuda().cuEventRecord(it.event, nullptr));
  OK(cuda().cuEventSynchronize(it.event));
  it.idle("when an event in the NULL stream is over");
}

void event_behind_null_stream() {
  Blocking it;
  it.launch(nullptr);
  OK(cuda().cuEventRecord(it.event, it.other));
  OK(cuda().cuEventSynchronize(it.event));
  it.idle("when an event in a blocking stream is over");
}

void host_function_in_null_stream() {
  Blocking it;
  std::atomic<bool> done{false};
  it.launch(it.one);
  OK(cuda().cuLaunchHostFunc(nullptr, [](void* to) { *static_cast<std::atomic<bool>*>(to) = true; }, &done));
  eventually([&] { return done.load(); }, "the host function runs");
  it.idle("when a host function in the NULL stream runs");
}

void later_work() {
  Blocking it;
  it.launch(it.one);
  OK(cuda().cuEventRecord(it.event, nullptr));
  it.program.run_us(kLongUs, it.one);
  CUevent end = make_event();
  OK(cuda().cuEventRecord(end, it.one));
  OK(cuda().cuEventSynchronize(it.event));
  const bool active = it.active();
  expect(active || cuda().cuEventQuery(end) == CUDA_SUCCESS, "what came after the event is not done with it");
  OK(cuda().cuStreamSynchronize(it.one));
  it.idle("at the end");
}

void work_elsewhere() {
  Blocking it;
  CUstream apart = make_stream();
  it.program.run_us(kLongUs, apart);
  it.launch(it.one);
  OK(cuda().cuStreamSynchronize(nullptr));
  const bool active = it.active();
  expect(active || cuda().cuStreamQuery(apart) == CUDA_SUCCESS, "the NULL stream waits for no non-blocking stream");
  OK(cuda().cuStreamSynchronize(apart));
  it.idle("at the end");
}

struct Many : High {
  std::vector<CUstream> streams = std::vector<CUstream>(200);

  Many() {
    for (CUstream& stream : streams) stream = make_stream();
  }
  void launch() {
    for (CUstream stream : streams) program.run_us(10, stream, 1);
    busy("while kernels run");
  }
};

void whole_context() {
  Many it;
  it.launch();
  OK(cuda().cuCtxSynchronize());
  it.idle("when the context was synchronised");
}

void all_in_one() {
  Many it;
  CUstream joins = make_stream();
  CUevent event = make_event();
  for (int round = 0; round < 3; ++round) {
    it.launch();
    for (CUstream stream : it.streams) {
      OK(cuda().cuEventRecord(event, stream));
      OK(cuda().cuStreamWaitEvent(joins, event, 0));
    }
    OK(cuda().cuStreamSynchronize(joins));
    it.idle("when a stream that waits for 200 was synchronised");
  }
}

constexpr Case kCases[] = {
    {"the NULL stream synchronised shows the work of blocking streams", null_stream_synchronised},
    {"so does a query of the NULL stream", null_stream_queried},
    {"an event in the NULL stream does", event_in_null_stream},
    {"an event in a blocking stream shows the NULL stream's work", event_behind_null_stream},
    {"a host function in the NULL stream shows the work of blocking streams", host_function_in_null_stream},
    {"what a blocking stream gets after an event in the NULL stream is not shown by it", later_work},
    {"the NULL stream shows nothing of non-blocking streams", work_elsewhere},
    {"a whole context may have 200 busy streams", whole_context},
    {"one stream may wait for 200", all_in_one},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
