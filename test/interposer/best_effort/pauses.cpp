// Pauses of best-effort work: when they end, and what the helper thread lets through in a long one.
#include "../fixture.h"
#include "gate/hold_page.h"

using namespace harness;

namespace {

// A high client may itself wait for best-effort work: a pause becomes minimum progress.
void long_pause_makes_progress() {
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(100, stream);
  const std::uint64_t before = now_ms();
  client.request_begins();
  for (int i = 0; i < 12; ++i) client.program.run_us(100, stream);
  OK(cuda().cuStreamSynchronize(stream));
  expect(now_ms() - before >= 200, "the pause was kept for its 250 ms first");
  expect(client.slot().minProgress.load() >= 1, "minimum progress is counted");
  expect(client.agent.page().active.load() != 0, "the request was active all the time");
}

// A training that synchronises each iteration is a high client without a pause worth the name.
void bursts_in_a_row_are_one_pause() {
  BestEffort client;
  auto& region = client.agent.region();
  region.settings.resumeDelayUs = 50'000;
  CUstream stream = make_stream();
  Word word;
  client.warm(50, stream);
  const std::uint64_t before = now_ms();
  client.request_begins();
  client.program.store_us(50, word.device, 1, stream);
  while (*word.host == 0 && now_ms() - before < kHangMs) {
    sleep_ms(10);
    client.request_ends_later();
    client.request_begins();
  }
  expect(*word.host == 1, "minimum progress comes though bursts end all the time");
  expect(now_ms() - before >= 50, "it had to wait");
  client.request_ends();
}

// Where contexts take turns, work stands still for a moment so often that its time slice begins again.
void time_slices_are_renewed() {
  BestEffort client;
  auto& region = client.agent.region();
  CUstream stream = make_stream();
  Word word;
  client.warm(100, stream);
  bool paused = false;
  const auto standstills = [&](unsigned from) {
    for (unsigned i = 1; i <= 300; ++i) client.program.store_us(100, word.device, from + i, stream);
    int stood = 0;
    for (bool before = false; *word.host != from + 300;) {
      const bool now = region.holds[0].word.load() != 0;
      if (now && !before) ++stood;
      paused = paused || cotenant::is_paused(client.agent.page());
      before = now;
    }
    return stood;
  };
  expect(standstills(0) == 0, "nobody stops it");
  region.settings.renewUs = 1'000;
  int stood = 0;
  for (int i = 0; i < 20 && stood == 0; ++i) stood = standstills(300);  // a slow machine may look too seldom
  expect(stood > 0, "300 kernels of 100 us stand still now and then");
  expect(!paused, "and this is no pause, for which a gang would wait");
  region.settings.isolated = 0;
  sleep_ms(20);
  expect(standstills(600) == 0, "side by side there are no slices to renew");
  region.settings.isolated = 1;
  for (unsigned i = 1; i <= 300; ++i) client.program.store_us(100, word.device, 900 + i, stream);
  client.request_begins();
  sleep_ms(50);
  expect(cotenant::is_paused(client.agent.page()), "a request is one");
  cotenant::stand_hold(client.agent.page());
  expect(cotenant::is_paused(client.agent.page()), "and remains one if the time slice is to be renewed meanwhile");
  const unsigned at = *word.host;
  sleep_ms(20);
  expect(*word.host == at, "what stood still is not let go while a request is active");
  client.request_ends();
  OK(cuda().cuStreamSynchronize(stream));
  expect(*word.host == 1200, "all of it ran");
}

void lost_wake_up_is_repaired() {
  BestEffort client;
  client.agent.region().settings.progressAfterUs = kMaxProgressUs;
  CUstream stream = make_stream();
  client.warm(100, stream);
  client.program.run_us(5'000, stream);
  for (int i = 0; i < 5; ++i) client.program.run_us(100, stream);
  // Killed between clearing its bit and opening the words.
  client.agent.page().word.store(1);
  OK(cuda().cuStreamSynchronize(stream));
  expect(client.slot().minProgress.load() == 0,
         "the helper thread opens a hold that nobody wants, not minimum progress");
}

void resume_delay() {
  BestEffort client;
  client.agent.region().settings.progressAfterUs = kMaxProgressUs;
  CUstream stream = make_stream();
  Word word;
  client.agent.region().settings.resumeDelayUs = 30'000;
  client.warm(50, stream);
  client.request_begins();
  client.program.store_us(50, word.device, 1, stream);
  sleep_ms(20);
  const std::uint64_t ended = now_ms();
  client.request_ends_later();
  eventually([&] { return *word.host == 1; }, "the helper thread releases it after the delay");
  expect(now_ms() - ended >= 29, "nothing runs within the delay");
  expect(client.slot().minProgress.load() == 0, "it was not minimum progress");
}

// Damage in the one field from which the resume delay is counted.
void end_of_a_request_in_the_future() {
  BestEffort client;
  CUstream stream = make_stream();
  client.agent.region().settings.resumeDelayUs = 150;
  client.warm(50, stream);
  client.agent.region().settings.progressAfterUs = kMaxProgressUs;
  client.request_begins();
  for (int i = 0; i < 10; ++i) client.program.run_us(50, stream);
  client.agent.page().idleSince.store(~0ull);
  client.agent.page().active.fetch_and(~std::uint64_t{1u << 9});
  OK(cuda().cuStreamSynchronize(stream));
  expect(client.slot().minProgress.load() == 0, "a request said to end in the future holds nobody back");
}

constexpr Case kCases[] = {
    {"a long pause becomes minimum progress", long_pause_makes_progress},
    {"bursts in a row are one pause, and minimum progress comes", bursts_in_a_row_are_one_pause},
    {"time slices are renewed where contexts take turns", time_slices_are_renewed},
    {"a lost wake-up is repaired", lost_wake_up_is_repaired},
    {"after a request the resume delay is kept, and no more", resume_delay},
    {"a request said to end in the future holds nobody back", end_of_a_request_in_the_future},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
