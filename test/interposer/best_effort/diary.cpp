// What a best-effort client writes down for bench/live/slow_bursts.py.
#include "../fixture.h"
#include "interposer/best_effort/chunk_log.h"

using namespace harness;
using namespace cotenant::chunk_log;

namespace {

void a_diary_is_kept() {
  const std::string path = std::string(getenv("COTENANT_SOFTGPU_DIR")) + "/diary";
  setenv("COTENANT_CHUNKS", path.c_str(), 1);
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(50, stream);
  client.agent.region().high[9].busySince = 1;
  client.request_begins();
  for (int i = 0; i < 60; ++i) client.program.run_us(50, stream);
  sleep_ms(20);
  client.agent.region().high[9].busySince = 0;
  client.request_ends();
  OK(cuda().cuStreamSynchronize(stream));
  sleep_ms(20);
  const std::string own = path + "." + std::to_string(getpid());
  std::FILE* file = std::fopen(own.c_str(), "rb");
  std::FILE* names = std::fopen((own + ".names").c_str(), "r");
  expect(file && names, "there is a diary and a list of names");
  Record record{};
  int seen[16] = {};
  std::uint32_t longest = 0;
  expect(std::fread(&record, sizeof record, 1, file) == 1, "it has a head");
  expect(std::memcmp(&record, "COTCHUNK", 8) == 0, "which says what it is");
  while (std::fread(&record, sizeof record, 1, file) == 1 && record.at_ns != 0) {
    const auto what = static_cast<unsigned>(record.what);
    expect(what >= 1 && what <= 8, "kinds of record are known");
    ++seen[what];
    if (record.what == What::kLaunch) longest = std::max(longest, record.expected_ns);
  }
  const auto count = [&](What what) { return seen[static_cast<unsigned>(what)]; };
  expect(count(What::kLaunch) == 100, "each launch is in it, not " + std::to_string(count(What::kLaunch)));
  expect(longest >= 50'000, "with the time that it is expected to take");
  expect(count(What::kBorder) >= 10 && count(What::kMark) >= 10, "borders and when they were passed");
  expect(count(What::kHold) >= 2, "when the hold was closed and opened");
  expect(count(What::kBurst) == 2, "the burst's beginning and end");
  expect(count(What::kDrained) >= 10, "and what the application waited for");
  char line[256] = {};
  expect(std::fgets(line, sizeof line, names) && std::strstr(line, " spin"), "kernels have names");
}

constexpr Case kCases[] = {
    {"launches, borders, holds and bursts are written down", a_diary_is_kept},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
