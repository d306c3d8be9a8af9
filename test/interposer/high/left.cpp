// Work that a service leaves behind when it has seen the end of a request (native/interposer/high/left.h).
#include <functional>
#include <thread>

#include "waiting.h"

using namespace harness;

namespace {

struct Leaving : High {
  CUstream main = make_stream();
  CUstream side = make_stream();
  CUevent event = make_event();
  Word word;
  std::uint64_t request_us = 1'000;

  auto& slot() { return agent.region().high[0]; }
  std::uint64_t words() { return slot().tailWrites.load(); }

  // A request, and what the service does besides.
  void request(const std::function<void()>& before_look, const std::function<void()>& after_look) {
    program.run_us(request_us, main);
    before_look();
    OK(cuda().cuStreamSynchronize(main));
    after_look();
  }
  // Until the GPU is known to have nothing more to do, or that is assumed.
  void rest() {
    eventually([&] { return !active(); }, "best-effort work goes on");
    sleep_ms(2);
  }

  void is_learned(const std::function<void()>& before_look, const std::function<void()>& after_look) {
    eventually(
        [&] {
          const std::uint64_t before = words();
          request(before_look, after_look);
          rest();
          return words() > before;
        },
        "words come behind what is left");
    // The first words may come behind other kinds of work.
    for (int i = 0; i < 10; ++i) request(before_look, after_look), rest();
    const std::uint64_t bursts = slot().bursts.load();
    const std::uint64_t timeouts = slot().timeouts.load();
    for (int i = 0; i < 20; ++i) request(before_look, after_look), rest();
    // On a busy machine the GPU may take so long that the end of some is assumed.
    expect(slot().timeouts.load() - timeouts < 8, "no end is assumed any more");
    const std::uint64_t more = slot().bursts.load() - bursts;
    expect(more > 12 && more < 25, "each request is one burst, not " + std::to_string(more) + " for 20");
  }

  void aside(std::uint64_t us) {
    OK(cuda().cuEventRecord(event, main));
    OK(cuda().cuStreamWaitEvent(side, event, 0));
    program.run_us(us, side, 4);
  }
};

void nothing() {}

void in_a_side_stream() {
  Leaving it;
  it.is_learned([&] { it.aside(200); }, nothing);
}

void after_the_look() {
  Leaving it;
  it.is_learned(nothing, [&] { OK(cuda().cuMemsetD32Async(it.word.device, 0, 4, it.main)); });
}

// Its end is assumed after some steps only.
void holds_until_it_is_done() {
  Leaving it;
  it.request_us = 40'000;
  it.is_learned([&] { it.aside(200); }, nothing);
  CUevent end = make_event();
  it.request(
      [&] {
        it.aside(20'000);
        OK(cuda().cuEventRecord(end, it.side));
      },
      nothing);
  bool active = true;
  while (active) {
    active = it.active();
    expect(active || cuda().cuEventQuery(end) == CUDA_SUCCESS, "what is left holds while it runs");
    usleep(200);
  }
}

void no_words_without() {
  Leaving it;
  for (int i = 0; i < 40; ++i) {
    it.request(nothing, nothing);
    sleep_ms(3);
  }
  expect(it.words() == 0 && it.bursts() == 40, "a service that leaves nothing gets no words");
}

// As an engine's queued step: its end was assumed, and then a thread waits for it.
template <class Wait>
void waited_for_later(unsigned flags, Wait wait) {
  Leaving it;
  it.side = make_stream(flags);
  for (int i = 0; i < 15; ++i) it.request(nothing, nothing);
  eventually(
      [&] {
        it.request([&] { it.program.run_us(500'000, it.side, 4); }, nothing);
        eventually([&] { return !it.active(); }, "best-effort work goes on");
        std::atomic<bool> done{false};
        std::thread waits([&] {
          OK(cuda().cuCtxSetCurrent(it.program.context));
          wait(it.side);
          done = true;
        });
        bool held = false;
        while (!done) {
          held = held || it.active();
          usleep(200);
        }
        waits.join();
        it.idle("when the thread has waited for it");
        return held;
      },
      "work that was taken for done holds again when a thread waits for it");
}

void waited_for_by_its_stream() {
  waited_for_later(CU_STREAM_NON_BLOCKING, [](CUstream stream) { OK(cuda().cuStreamSynchronize(stream)); });
}
void waited_for_by_its_context() {
  waited_for_later(CU_STREAM_NON_BLOCKING, [](CUstream) { OK(cuda().cuCtxSynchronize()); });
}
void waited_for_by_the_null_stream() {
  waited_for_later(CU_STREAM_DEFAULT, [](CUstream) { OK(cuda().cuStreamSynchronize(nullptr)); });
}
void waited_for_to_free_memory() {
  waited_for_later(CU_STREAM_NON_BLOCKING, [](CUstream) {
    CUdeviceptr memory = 0;
    OK(cuda().cuMemAlloc_v2(&memory, 4096));
    OK(cuda().cuMemFree_v2(memory));
  });
}

constexpr Case kCases[] = {
    {"work in a side stream that nobody waits for holds until it is done, and belongs to no burst", in_a_side_stream},
    {"so does work that is submitted after the poll", after_the_look},
    {"what is left behind holds while it runs", holds_until_it_is_done},
    {"a service that leaves nothing behind gets no words", no_words_without},
    {"work that was taken for done holds again when a thread waits for it", waited_for_by_its_stream},
    {"so it does when a thread waits for all of its context", waited_for_by_its_context},
    {"so it does when a thread waits for the NULL stream, which waits for it", waited_for_by_the_null_stream},
    {"so it does when a thread frees memory, which waits for it", waited_for_to_free_memory},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
