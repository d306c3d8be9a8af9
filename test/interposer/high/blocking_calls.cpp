// Calls that keep their thread until the GPU has done its work: their time counts as waited.
#include "waiting.h"

using namespace harness;

namespace {

template <class Wait>
void blocked_in(Wait wait) {
  Waiting high;
  CUstream stream = make_stream(CU_STREAM_DEFAULT);
  CUevent done = make_event();
  high.program.run_us(10, stream);
  high.pause_ms(30);
  high.program.run_us(kLongUs, stream);
  OK(cuda().cuEventRecord(done, stream));
  wait(stream, done);
  if (high.active()) OK(cuda().cuStreamSynchronize(stream));  // the call showed no completion
  high.waited_some();
  high.waited_but_for_pauses();
}

void blocked_by_stream() {
  blocked_in([](CUstream stream, CUevent) { OK(cuda().cuStreamSynchronize(stream)); });
}
void blocked_by_event() {
  blocked_in([](CUstream, CUevent done) { OK(cuda().cuEventSynchronize(done)); });
}
void blocked_by_context() {
  blocked_in([](CUstream, CUevent) { OK(cuda().cuCtxSynchronize()); });
}
void polled_stream() {
  blocked_in([](CUstream stream, CUevent) {
    while (cuda().cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) usleep(500);
  });
}
void polled_event() {
  blocked_in([](CUstream, CUevent done) {
    while (cuda().cuEventQuery(done) == CUDA_ERROR_NOT_READY) usleep(500);
  });
}
void polled_then_blocked() {
  Waiting high;
  CUstream stream = make_stream();
  high.program.run_us(kLongUs, stream);
  expect(cuda().cuStreamQuery(stream) == CUDA_ERROR_NOT_READY, "a long kernel is not done at once");
  high.pause_ms(300);
  OK(cuda().cuStreamSynchronize(stream));
  expect(high.waited() >= bucket_of(high.paused_ns), "it waited from its first question on");
}

// A copy to pageable memory holds up its caller, whatever its name; and so does one from it that is large.
struct Pageable {
  std::vector<char> host = std::vector<char>(1 << 20);
  CUdeviceptr memory = 0;
};
void blocked_by_copy() {
  blocked_in([](CUstream, CUevent) {
    Pageable copy;
    OK(cuda().cuMemAlloc_v2(&copy.memory, copy.host.size()));
    OK(cuda().cuMemcpyDtoH_v2(copy.host.data(), copy.memory, copy.host.size()));
  });
}
void blocked_by_copy_out() {
  blocked_in([](CUstream stream, CUevent) {
    Pageable copy;
    OK(cuda().cuMemAlloc_v2(&copy.memory, copy.host.size()));
    OK(cuda().cuMemcpyDtoHAsync_v2(copy.host.data(), copy.memory, copy.host.size(), stream));
  });
}
void blocked_by_copy_in() {
  blocked_in([](CUstream stream, CUevent) {
    Pageable copy;
    OK(cuda().cuMemAlloc_v2(&copy.memory, copy.host.size()));
    OK(cuda().cuMemcpyHtoDAsync_v2(copy.memory, copy.host.data(), copy.host.size(), stream));
  });
}
void blocked_by_nameless_copy() {
  blocked_in([](CUstream stream, CUevent) {
    Pageable copy;
    OK(cuda().cuMemAlloc_v2(&copy.memory, copy.host.size()));
    OK(cuda().cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(copy.host.data()), copy.memory, copy.host.size(), stream));
  });
}
void blocked_by_freeing() {
  blocked_in([](CUstream, CUevent) {
    CUdeviceptr memory = 0;
    OK(cuda().cuMemAlloc_v2(&memory, 4096));
    OK(cuda().cuMemFree_v2(memory));
  });
}

// Nothing is known of an event that a graph records, nor of what its stream has done when it is complete.
void blocked_by_event_of_a_graph() {
  blocked_in([](CUstream stream, CUevent done) {
    CUgraph graph = nullptr;
    OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuda().cuEventRecordWithFlags(done, stream, CU_EVENT_RECORD_EXTERNAL));
    OK(cuda().cuStreamEndCapture(stream, &graph));
    CUgraphExec instance = nullptr;
    OK(cuda().cuGraphInstantiateWithFlags(&instance, graph, 0));
    OK(cuda().cuGraphLaunch(instance, stream));
    OK(cuda().cuEventSynchronize(done));
  });
}

constexpr Case kCases[] = {
    {"a thread that synchronises a stream waits for the GPU", blocked_by_stream},
    {"a thread that synchronises an event waits for the GPU", blocked_by_event},
    {"a thread that synchronises a context waits for the GPU", blocked_by_context},
    {"a thread that asks for a stream again and again waits for the GPU", polled_stream},
    {"a thread that asks for an event again and again waits for the GPU", polled_event},
    {"a thread that asks a few times and then is blocked waits for the GPU", polled_then_blocked},
    {"a synchronous copy to the host waits for the GPU", blocked_by_copy},
    {"an asynchronous copy to pageable memory waits for the GPU", blocked_by_copy_out},
    {"a large asynchronous copy from pageable memory waits for the GPU", blocked_by_copy_in},
    {"an asynchronous copy without a direction to pageable memory waits for the GPU", blocked_by_nameless_copy},
    {"freeing memory waits for the GPU", blocked_by_freeing},
    {"synchronising an event that a graph records waits for the GPU", blocked_by_event_of_a_graph},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
