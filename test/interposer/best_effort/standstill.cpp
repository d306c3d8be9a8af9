// Streams in which the GPU waits for the program: no call of the program may wait for them.
#include "../fixture.h"

using namespace harness;

namespace {

// A stream that stands until release() is called.
struct Standing {
  BestEffort client;
  CUstream stream = make_stream();
  Word go;

  Standing() {
    client.agent.region().settings.submitUs = 10'000;
    client.agent.region().settings.submitLaunches = 700;
    client.warm(20, stream);
  }
  void stand() { OK(cuda().cuStreamWaitValue32_v2(stream, go.device, 1, CU_STREAM_WAIT_VALUE_EQ)); }
  void release() { *go.host = 1; }
};

// Natively they take no time. Each wait of ours that only the program could end would last for seconds.
void expect_prompt(std::uint64_t began, const char* what) {
  expect(now_ms() - began < 5'000, std::string(what) + " are not waited for");
}

void a_stream_that_waits_for_a_word_takes_launches() {
  Standing it;
  Word word;
  it.stand();
  const std::uint64_t began = now_ms();
  for (unsigned i = 1; i <= 505; ++i) it.client.program.store_us(20, word.device, i, it.stream);
  expect_prompt(began, "505 launches behind a wait");
  expect(*word.host == 0, "nothing runs yet");
  it.release();
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*word.host == 505, "it all runs");
}

std::atomic<bool> let_go{false};
void block(void*) {
  while (!let_go) usleep(100);
}

void a_stream_behind_a_host_function_takes_launches() {
  BestEffort client;
  CUstream stream = make_stream();
  OK(cuda().cuLaunchHostFunc(stream, block, nullptr));
  const std::uint64_t began = now_ms();
  for (unsigned i = 1; i <= 30; ++i) client.program.run_us(20, stream, i);  // of lengths that nobody knows yet
  expect_prompt(began, "30 launches of new kernels behind a host function");
  let_go = true;
  OK(cuda().cuStreamSynchronize(stream));
}

void launch_by_launch_too() {
  Standing it;
  it.client.agent.region().settings.submission = static_cast<std::uint32_t>(cotenant::protocol::Submission::kLaunch);
  it.stand();
  const std::uint64_t began = now_ms();
  for (int i = 0; i < 50; ++i) it.client.program.run_us(20, it.stream);
  CUstream other = make_stream();
  for (int i = 0; i < 50; ++i) it.client.program.run_us(20, other);
  OK(cuda().cuStreamSynchronize(other));
  expect_prompt(began, "50 launches behind a wait and 50 in another stream");
  it.release();
  OK(cuda().cuStreamSynchronize(it.stream));
}

void another_stream_is_not_concerned() {
  Standing it;
  CUstream other = make_stream();
  it.stand();
  for (int i = 0; i < 505; ++i) it.client.program.run_us(20, it.stream);
  const std::uint64_t began = now_ms();
  for (int i = 0; i < 100; ++i) it.client.program.run_us(20, other);
  OK(cuda().cuStreamSynchronize(other));
  expect_prompt(began, "launches in another stream");
  it.release();
  OK(cuda().cuStreamSynchronize(it.stream));
}

void it_is_held_again_when_it_goes_on() {
  Standing it;
  Word word;
  it.client.agent.region().settings.progressAfterUs = 1'000'000;
  it.stand();
  for (unsigned i = 1; i <= 505; ++i) it.client.program.store_us(20, word.device, i, it.stream);
  it.client.request_begins();
  it.release();
  sleep_ms(100);
  expect(*word.host < 100, "it stops at the next border, not after " + std::to_string(*word.host) + " of 505 kernels");
  it.client.request_ends();
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*word.host == 505, "and goes on to its end");
}

// A driver's queue holds some 1,000 entries: a program that uses 800 of them behind a wait must not find it full of ours.
void what_we_add_to_its_queue_is_little() {
  Standing it;
  it.stand();
  for (int i = 0; i < 400; ++i) it.client.program.run_us(20, it.stream);
  sleep_ms(50);
  const std::uint64_t chunks = it.client.slot().chunks.load();
  for (int i = 0; i < 400; ++i) it.client.program.run_us(20, it.stream);
  expect(it.client.slot().chunks.load() - chunks < 40, "no border is put where 700 entries are");
  it.release();
  OK(cuda().cuStreamSynchronize(it.stream));
}

// When the program lets the stream go on, a request must be able to stop what was launched meanwhile.
void a_crowded_stream_has_few_borders_but_some() {
  Standing it;
  it.stand();
  for (int i = 0; i < 550; ++i) it.client.program.run_us(20, it.stream);
  const std::uint64_t chunks = it.client.slot().chunks.load();
  for (int i = 0; i < 250; ++i) it.client.program.run_us(20, it.stream);
  const std::uint64_t put = it.client.slot().chunks.load() - chunks;
  expect(put >= 5 && put < 20, "250 launches get a few borders, not " + std::to_string(put));
  it.release();
  OK(cuda().cuStreamSynchronize(it.stream));
}

// Its length explains that the marks stand, however many launches are queued behind it.
void a_known_long_kernel_takes_no_borders_away() {
  Standing it;
  it.client.agent.region().settings.isolated = 0;
  it.client.agent.region().settings.preemptUs = 0;
  constexpr std::uint64_t kLongUs = 100'000;
  for (int i = 0; i < 4; ++i) {
    it.client.program.run_us(kLongUs, it.stream, 2);
    OK(cuda().cuStreamSynchronize(it.stream));
  }
  const std::uint64_t chunks = it.client.slot().chunks.load();
  constexpr unsigned kLaunches = 1'500;
  it.client.program.run_us(kLongUs, it.stream, 2);
  for (unsigned i = 0; i < kLaunches; ++i) it.client.program.run_us(20, it.stream);
  const double each = kLaunches / static_cast<double>(it.client.slot().chunks.load() - chunks);
  expect(each < 13, "a border follows each 10 launches, not " + std::to_string(each));
  OK(cuda().cuStreamSynchronize(it.stream));
}

// As an NCCL kernel that waits for a peer: known to be long, in one stream; another stream computes.
void a_long_kernel_holds_up_no_other_stream() {
  BestEffort client;
  client.agent.region().settings.isolated = 0;
  client.agent.region().settings.preemptUs = 0;
  CUstream communicates = make_stream();
  CUstream computes = make_stream();
  client.warm(20, computes);
  constexpr std::uint64_t kLongUs = 300'000;
  for (int i = 0; i < 4; ++i) {
    client.program.run_us(kLongUs, communicates, 2);
    OK(cuda().cuStreamSynchronize(communicates));
  }
  CUevent end = make_event();
  client.program.run_us(kLongUs, communicates, 2);
  OK(cuda().cuEventRecord(end, communicates));
  for (int i = 0; i < 20; ++i) client.program.run_us(20, computes, 4);
  expect(cuda().cuEventQuery(end) == CUDA_ERROR_NOT_READY, "20 launches are made while the long kernel runs");
  OK(cuda().cuStreamSynchronize(communicates));
}

void a_standing_stream_is_no_work_to_wait_for() {
  Standing it;
  it.stand();
  for (int i = 0; i < 10; ++i) it.client.program.run_us(20, it.stream);
  eventually([&] { return (it.client.agent.region().bestEffort[0].waiting.load()) == 0; },
             "others need not wait for a turn that this client can't use");
  it.release();
  OK(cuda().cuStreamSynchronize(it.stream));
}

constexpr Case kCases[] = {
    {"a stream that waits for a word takes launches", a_stream_that_waits_for_a_word_takes_launches},
    {"a stream behind a host function takes launches", a_stream_behind_a_host_function_takes_launches},
    {"launch by launch, too", launch_by_launch_too},
    {"another stream is not concerned", another_stream_is_not_concerned},
    {"it is held again when it goes on", it_is_held_again_when_it_goes_on},
    {"what we add to its queue is little", what_we_add_to_its_queue_is_little},
    {"a crowded stream has few borders, but some", a_crowded_stream_has_few_borders_but_some},
    {"a known long kernel takes no borders away from what follows", a_known_long_kernel_takes_no_borders_away},
    {"a long kernel holds up no other stream", a_long_kernel_holds_up_no_other_stream},
    {"a standing stream is no work to wait for", a_standing_stream_is_no_work_to_wait_for},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
