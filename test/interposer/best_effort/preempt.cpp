// Long kernels whose PTX is known: made so that they can stop inside, and then stopped by a request.
#include "long_kernel.h"

using namespace harness;

namespace {

void a_request_stops_a_long_kernel() {
  Long it;
  it.learn();
  expect(it.client.agent.asked_for == "count", "it is asked for by its name");
  expect(it.client.agent.asked_with.find(".entry count(") != std::string::npos, "with the PTX it came from");
  a_request_stops(it);
}

// It would stop inside, where nobody sees it stand. (Between slices it may stand: there is a preemption point.)
void a_time_slice_is_not_renewed_inside() {
  setenv("COTENANT_TEST_FORM", "preempt", 1);
  Long it;
  it.learn();
  it.client.agent.region().settings.renewUs = 1'000;
  it.launch();
  const auto& hold = it.client.agent.page().word;
  int stood = 0;
  for (bool before = false; *it.word.host == 0;) {
    const bool now = hold.load() != 0;
    stood += now && !before;
    before = now;
  }
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(stood <= 1, "its 20 ms are not interrupted " + std::to_string(stood) + " times");  // once, as it is submitted
}

void slices_stop_between_each_other() {
  setenv("COTENANT_TEST_FORM", "slice", 1);
  Long it(kPtxHead + kSlice);
  it.learn();
  a_request_stops(it);
}

void it_ends_however_often_it_is_stopped() {
  Long it;
  it.learn();
  it.launch();
  for (int i = 0; i < 5; ++i) {
    sleep_ms(3);
    it.client.request_begins();
    sleep_ms(3);
    it.client.request_ends();
  }
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 1, "done once, whatever the requests");
}

void many_in_a_row() {
  Long it;
  it.learn();
  std::thread requests([&] {
    for (int i = 0; i < 20; ++i) {
      sleep_ms(4);
      it.client.request_begins();
      sleep_ms(2);
      it.client.request_ends();
    }
  });
  for (unsigned i = 1; i <= 8; ++i) it.launch(i);
  OK(cuda().cuStreamSynchronize(it.stream));
  requests.join();
  expect(*it.word.host == 36, "each of them once");
}

void parameters_in_one_buffer() {
  Long it;
  it.learn();
  struct {
    CUdeviceptr at;
    unsigned value;
    std::uint64_t ns;
  } packed{it.word.device, 5, Long::kUs * 1000};
  std::size_t size = sizeof packed;
  void* extra[] = {reinterpret_cast<void*>(kLaunchParamBufferPointer), &packed,
                   reinterpret_cast<void*>(kLaunchParamBufferSize), &size, reinterpret_cast<void*>(kLaunchParamEnd)};
  const std::uint64_t before = it.client.slot().preemptible.load();
  OK(cuda().cuLaunchKernel(it.count, 100, 100, 1, 128, 1, 1, 0, it.stream, nullptr, extra));
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 5, "they arrive");
  expect(it.client.slot().preemptible.load() == before + 1, "in a variant that can stop");
}

// A grid that is on the GPU all at once gains nothing; a cooperative one needs all its blocks at once.
void what_runs_as_it_is() {
  Long it;
  it.learn();
  const std::uint64_t before = it.client.slot().preemptible.load();
  CUdeviceptr at = it.word.device;
  unsigned value = 1;
  std::uint64_t ns = Long::kUs * 1000;
  void* parameters[] = {&at, &value, &ns};
  OK(cuda().cuLaunchKernel(it.count, 132, 1, 1, 128, 1, 1, 0, it.stream, parameters, nullptr));
  OK(cuda().cuLaunchCooperativeKernel(it.count, 132, 1, 1, 128, 1, 1, 0, it.stream, parameters));
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 2, "both are done");
  expect(it.client.slot().preemptible.load() == before, "as they are");
}

void high_kernels_are_left_alone() {
  High client;
  client.agent.variant = kVariants;
  client.agent.region().settings.preemptUs = 1;
  CUstream stream = make_stream();
  for (int i = 0; i < 8; ++i) client.program.run_us(2'000, stream, 10'000);
  OK(cuda().cuStreamSynchronize(stream));
  expect(client.agent.asked.load() == 0, "nobody asks");
}

constexpr Case kCases[] = {
    {"a time slice is not renewed inside a long kernel", a_time_slice_is_not_renewed_inside},
    {"a request stops a long kernel inside", a_request_stops_a_long_kernel},
    {"a kernel goes on however often it was stopped", it_ends_however_often_it_is_stopped},
    {"many kernels and many requests", many_in_a_row},
    {"parameters in one buffer arrive", parameters_in_one_buffer},
    {"what gains nothing runs as it is", what_runs_as_it_is},
    {"slices stop between each other", slices_stop_between_each_other},
    {"high clients' kernels are left alone", high_kernels_are_left_alone},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
