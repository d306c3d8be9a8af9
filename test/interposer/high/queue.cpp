// Programs that launch thousands of times between two looks at what is done: whether their GPU or their CPU is the limit.
// The GPU's progress when the program goes on is forced: the program stops it with a word, or polls one that it writes.
#include <algorithm>

#include "waiting.h"

using namespace harness;

namespace {

constexpr int kCrowdedBursts = 3;  // after this many there are words in the queue
constexpr int kLaunches = 2000;  // far more than 900
constexpr int kHeld = 1000;  // behind a wait a queue has room for 1,020, also for the words
constexpr int kPieces = 20;

struct Launching : Waiting {
  CUstream stream = make_stream();
  Word reached;
  Word go;

  Launching() {
    agent.region().settings.startupTimeoutUs = 0;  // nothing here is looked at for long
    // Requests as long as a burst may take on a slow machine. Without them it would be given up, or taken for one of a
    // program that polls instead of asking the driver. What nobody has looked for before is given up after a second.
    for (const std::uint64_t us : {500'000, 1'000'000}) {
      program.run_us(us, stream);
      synchronise();
    }
    forget();
  }

  std::uint64_t words() { return slot().tailWrites.load(); }
  void synchronise() { OK(cuda().cuStreamSynchronize(stream)); }
  void launch(int count) {
    for (int i = 0; i < count; ++i) program.run_us(1, stream, 1);
  }
  // Pauses until the GPU has done all that was launched.
  void let_gpu_catch_up() {
    *reached.host = 0;
    program.store_us(1, reached.device, 1, stream);
    do pause_ms(1);
    while (*reached.host == 0);
  }
  void stop_gpu() {
    *go.host = 0;
    OK(cuda().cuStreamWaitValue32_v2(stream, go.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  }
  void let_gpu_go() { *go.host = 1; }

  // The program's CPU is the limit: the queue never holds more than a piece.
  void limited_by_cpu() {
    for (int piece = 0; piece < kPieces; ++piece) {
      launch(kLaunches / kPieces - 1);
      let_gpu_catch_up();
    }
    synchronise();
  }
  // The GPU is the limit: it does nothing until the queue is nearly full.
  void limited_by_gpu(int launches) {
    const int held = std::min(launches, kHeld);
    stop_gpu();
    launch(held);
    pause_ms(2);
    let_gpu_go();
    launch(launches - held);
    synchronise();
  }
  void become_known() {
    for (int i = 0; i < kCrowdedBursts; ++i) limited_by_cpu();
    expect(words() == 0, "no word is in the queue before");
    forget();
  }
};

void cpu_is_the_limit() {
  Launching high;
  for (int i = 0; i < kCrowdedBursts; ++i) {
    high.limited_by_cpu();
    high.waited_throughout();
    high.forget();
  }
  for (int i = 0; i < 3; ++i) {
    high.limited_by_cpu();
    high.waited_but_for_pauses();
    high.forget();
  }
}

void gpu_is_the_limit() {
  Launching high;
  for (const int launches : {kLaunches, 1100, 901}) {
    for (int i = 0; i < 2 * kCrowdedBursts; ++i) {
      high.limited_by_gpu(launches);
      high.waited_throughout();
      high.forget();
    }
  }
  expect(high.words() > 0, "words are in the queue by now");
}

// The part of a burst in which the queue was full is not forgotten when the GPU has caught up.
void full_at_first() {
  Launching high;
  high.become_known();
  high.stop_gpu();
  high.launch(901);
  high.let_gpu_go();
  for (int piece = 0; piece < kPieces; ++piece) {
    high.launch(100);
    high.let_gpu_catch_up();
  }
  high.synchronise();
  high.waited_throughout();
  high.forget();
  high.limited_by_cpu();
  high.waited_but_for_pauses();
}

// More than 900 launches in all, of which 700 were in the queue at once.
void nearly_full() {
  Launching high;
  high.become_known();
  for (int i = 0; i < 3; ++i) {
    high.launch(300);
    high.let_gpu_catch_up();
    high.stop_gpu();
    high.launch(700);
    high.let_gpu_go();
    high.let_gpu_catch_up();
    high.launch(700);
    high.synchronise();
    high.waited_but_for_pauses();
    high.forget();
  }
}

void one_burst_a_wait() {
  Launching high;
  high.become_known();
  for (int i = 0; i < 5; ++i) {
    high.limited_by_cpu();
    high.limited_by_gpu(kLaunches);
  }
  expect(high.bursts() == 10, "ten waits are ten bursts, not " + std::to_string(high.bursts()));
  expect(high.slot().timeouts.load() == 0, "and none was given up");
}

// The GPU has done all work, and the latest word says so.
void idle_behind_a_word() {
  Launching high;
  high.become_known();
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t before = high.words();
    unsigned latest = 0;
    while (high.words() == before) high.program.store_us(1, high.reached.device, ++latest, high.stream);
    do sleep_ms(30);
    while (*high.reached.host != latest);
    high.busy("until the program asks, whatever a word says");
    high.synchronise();
    high.idle("when it has asked");
    expect(high.bursts() == static_cast<unsigned>(i) + 1, "which was one burst");
  }
}

void other_stream_in_its_place() {
  Launching high;
  high.become_known();
  // More than rest before their places are used again (native/interposer/state/streams.cpp). So the last one, which has done
  // nothing yet, has the place of an earlier one, with whatever is in the word there.
  for (int each = 0; each < 80; ++each) {
    high.launch(600);
    high.synchronise();
    OK(cuda().cuStreamDestroy_v2(high.stream));
    high.stream = make_stream();
  }
  high.forget();
  high.limited_by_gpu(1100);
  high.waited_throughout();
  high.forget();
  high.limited_by_cpu();
  high.waited_but_for_pauses();
}

void several_threads() {
  Launching high;
  high.become_known();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      OK(cuda().cuCtxSetCurrent(high.program.context));
      CUstream own = i % 2 ? make_stream() : high.stream;
      for (int request = 0; request < 5; ++request) {
        for (int each = 0; each < 500; ++each) high.program.run_us(1, own, 1);
        OK(cuda().cuStreamSynchronize(own));
      }
    });
  for (std::thread& each : threads) each.join();
  high.idle("when all threads have asked");
  high.forget();
  high.limited_by_cpu();
  high.waited_but_for_pauses();
}

constexpr Case kCases[] = {
    {"thousands of launches of a program that its CPU limits count as waited throughout a few times only",
     cpu_is_the_limit},
    {"those of one that its GPU limits always do", gpu_is_the_limit},
    {"a burst whose queue was full at first counts as waited throughout", full_at_first},
    {"a queue that is not full is not taken for a full one", nearly_full},
    {"words in the queue neither end a burst nor divide it", one_burst_a_wait},
    {"a client stays busy behind a word until it asks", idle_behind_a_word},
    {"the word of an earlier stream in the same place tells nothing", other_stream_in_its_place},
    {"threads that launch into one stream share its words", several_threads},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
