// A kernel that takes far longer in some phases of the program than in others.
#include <utility>

#include "../fixture.h"

using namespace harness;

namespace {

// A chunk of 200 us has five of the short ones. Where the machine takes the CPU from the program while it times one, that one
// seems long, so each case may be tried again.
constexpr unsigned kShortUs = 40;
constexpr unsigned kLongUs = 1'000;
constexpr double kUsualDistance = 3;  // launches between preemption points, and more
constexpr double kPhaseDistance = 1.5;  // and less

struct Phases {
  BestEffort client;
  CUstream stream = make_stream();

  Phases() {
    auto& settings = client.agent.region().settings;
    settings.preemptUs = 0;
    settings.sampleEvery = 4;
    run(kShortUs, 200);
  }
  void run(unsigned us, unsigned launches) {
    for (unsigned i = 0; i < launches; ++i) {
      client.program.run_us(us, stream);
      if (i % 32 == 31) OK(cuda().cuStreamSynchronize(stream));
    }
    OK(cuda().cuStreamSynchronize(stream));
  }
  // Launches between two preemption points, of short kernels.
  double distance() {
    constexpr unsigned kLaunches = 320;
    const std::uint64_t before = client.slot().chunks.load();
    run(kShortUs, kLaunches);
    return double(kLaunches) / double(client.slot().chunks.load() - before);
  }
};

void a_phase_is_expected_again() {
  Phases it;
  eventually([&] { return it.distance() > kUsualDistance; }, "short kernels share chunks at first");
  eventually(
      [&] {
        it.run(kLongUs, 96);
        it.run(kShortUs, 400);  // far more than the samples from which durations are learned
        return it.distance() < kPhaseDistance;
      },
      "each launch has a border, while the phase may come again");
}

void single_long_launches_are_no_phase() {
  Phases it;
  eventually(
      [&] {
        for (int i = 0; i < 20; ++i) {
          it.run(kLongUs, 4);  // one of them is timed
          it.run(kShortUs, 64);
        }
        return it.distance() > kUsualDistance;
      },
      "short kernels share chunks");
}

// Between two launches is a preemption point, so the driver's queue is full of far fewer launches than usual.
void many_borders_leave_room_in_the_queue() {
  constexpr unsigned kEntries = 1'020;
  constexpr unsigned kEntriesOfALaunch = 3;
  Phases it;
  eventually([&] { return it.run(kLongUs, 96), it.run(kShortUs, 400), it.distance() < kPhaseDistance; }, "a phase");
  it.client.agent.region().settings.progressAfterUs = kMaxProgressUs;
  it.client.agent.region().settings.submitUs = 100'000;  // no limit here
  it.client.request_begins();
  std::atomic<unsigned> launched{0};
  std::thread launches([&] {
    OK(cuda().cuCtxSetCurrent(it.client.program.context));
    for (; launched < 500; ++launched) it.client.program.run_us(kShortUs, it.stream);
  });
  unsigned before = 0;
  eventually(
      [&] {
        sleep_ms(50);
        return std::exchange(before, launched.load()) == launched && before > 0;
      },
      "the program's thread is blocked");
  const unsigned queued = launched;
  it.client.request_ends();
  launches.join();
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(queued < kEntries / kEntriesOfALaunch - 20,
         "it is blocked before the driver's queue is full, behind " + std::to_string(queued) + " launches");
  expect(queued > kEntries / kEntriesOfALaunch / 2, "and not much before: " + std::to_string(queued));
}

constexpr Case kCases[] = {
    {"a_phase_is_expected_again", a_phase_is_expected_again},
    {"single_long_launches_are_no_phase", single_long_launches_are_no_phase},
    {"many_borders_leave_room_in_the_queue", many_borders_leave_room_in_the_queue},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
