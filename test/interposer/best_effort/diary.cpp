// The diary that a best-effort client writes for bench/live/slow_bursts.py.
#include "../fixture.h"
#include "interposer/best_effort/chunk_log.h"

using namespace harness;
using namespace cotenant::chunk_log;

namespace {

// The entries of the diary so far.
struct Tally {
  int seen[16] = {};
  std::uint32_t longest = 0;
  [[nodiscard]] int count(What what) const { return seen[static_cast<unsigned>(what)]; }
};

Tally read_diary(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  expect(file, "there is a diary");
  Record record{};
  Tally tally;
  expect(std::fread(&record, sizeof record, 1, file) == 1, "it has a head");
  expect(std::memcmp(&record, "COTCHUNK", 8) == 0, "which says what it is");
  // A record that is being written ends what can be read now.
  while (std::fread(&record, sizeof record, 1, file) == 1 && record.at_ns != 0 && record.what != What{}) {
    const auto what = static_cast<unsigned>(record.what);
    expect(what <= 8, "kinds of record are known");
    ++tally.seen[what];
    if (record.what == What::kLaunch) tally.longest = std::max(tally.longest, record.expected_ns);
  }
  std::fclose(file);
  return tally;
}

void a_diary_is_kept() {
  const std::string path = std::string(getenv("COTENANT_SOFTGPU_DIR")) + "/diary";
  setenv("COTENANT_CHUNKS", path.c_str(), 1);
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(50, stream);
  const std::string own = path + "." + std::to_string(getpid());
  // The watching thread may come late: what it is to see stays until it has.
  const auto until_seen = [&](What what, int times, const char* sentence) {
    eventually([&] { return read_diary(own).count(what) >= times; }, sentence);
  };
  const int holds = read_diary(own).count(What::kHold);
  client.request_begins();
  for (int i = 0; i < 60; ++i) client.program.run_us(50, stream);
  until_seen(What::kBurst, 1, "the burst's beginning is in the diary");
  until_seen(What::kHold, holds + 1, "so is the closed hold");
  client.request_ends();
  OK(cuda().cuStreamSynchronize(stream));
  until_seen(What::kBurst, 2, "so is the burst's end");
  until_seen(What::kHold, holds + 2, "so is the open hold");
  int launches = 100;
  eventually(
      [&] {
        if (read_diary(own).count(What::kMark) >= 10) return true;
        for (int i = 0; i < 20; ++i) client.program.run_us(50, stream);
        OK(cuda().cuStreamSynchronize(stream));
        launches += 20;
        return false;
      },
      "so are the borders that the GPU has passed");
  Tally tally;
  eventually([&] { return (tally = read_diary(own)).count(What::kLaunch) >= launches; }, "each launch is in it");
  expect(tally.count(What::kLaunch) == launches, "and in it once");
  expect(tally.longest >= 50'000, "with the time that it is expected to take");
  expect(tally.count(What::kBorder) >= 10, "and so are the borders");
  expect(tally.count(What::kBurst) == 2, "one burst has two records");
  expect(tally.count(What::kDrained) >= 10, "and what the application waited for is there");
  std::FILE* names = std::fopen((own + ".names").c_str(), "r");
  char line[256] = {};
  expect(names && std::fgets(line, sizeof line, names) && std::strstr(line, " spin"), "kernels have names");
}

constexpr Case kCases[] = {
    {"launches, borders, holds and bursts are written down", a_diary_is_kept},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
