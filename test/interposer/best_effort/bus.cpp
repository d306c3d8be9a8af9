// PCIe is one resource: a best-effort copy waits while one of a high client is in flight, whatever else the
// rules let run concurrently with a request.
#include "../fixture.h"

using namespace harness;

namespace {

constexpr std::uint32_t kAllow = 2;
constexpr std::uint64_t kTillTheEnd = ~0ull;
constexpr std::uint64_t kMiB = 1 << 20;

// Host memory that the GPU can read by itself, and some of its own.
struct Buffers {
  char* host = nullptr;
  CUdeviceptr device = 0;
  CUdeviceptr other = 0;
  explicit Buffers(std::size_t bytes) {
    void* memory = nullptr;
    OK(cuda().cuMemHostAlloc(&memory, bytes, 0));
    host = static_cast<char*>(memory);
    OK(cuda().cuMemAlloc_v2(&device, bytes));
    OK(cuda().cuMemAlloc_v2(&other, bytes));
  }
};

// A copy that another thread asks for: whether it has been through.
template <class Call>
struct Asked {
  std::atomic<bool> through{false};
  std::thread thread;
  Asked(BestEffort& client, Call call)
      : thread([this, &client, call] {
          OK(cuda().cuCtxSetCurrent(client.program.context));
          call();
          through = true;
        }) {}
  ~Asked() { thread.join(); }
};

void waits(std::uint32_t submission) {
  BestEffort client;
  auto& region = client.agent.region();
  region.settings.whenActive = kAllow;
  region.settings.submission = submission;
  region.settings.activeAheadUs = 200;
  region.settings.progressAfterUs = 1'000'000;
  CUstream stream = make_stream();
  CUstream kernels = make_stream();
  Buffers buffers(kMiB);
  Word word;
  client.warm(50, kernels);
  region.holds[0].high[9].copyUntil = kTillTheEnd;
  region.holds[0].active.fetch_or(1u << 9);
  Asked copy(client, [&] { OK(cuda().cuMemcpyHtoDAsync_v2(buffers.device, buffers.host, kMiB, stream)); });
  client.program.store_us(50, word.device, 1, kernels);
  OK(cuda().cuStreamSynchronize(kernels));
  expect(*word.host == 1, "a kernel runs concurrently with the request");
  OK(cuda().cuMemcpyDtoDAsync_v2(buffers.other, buffers.device, kMiB, kernels));
  OK(cuda().cuStreamSynchronize(kernels));
  sleep_ms(60);
  expect(!copy.through, "a copy over PCIe waits for the high client's");
  region.holds[0].high[9].copyUntil = 0;
  eventually([&] { return copy.through.load(); }, "it goes when that is over");
  OK(cuda().cuStreamSynchronize(stream));
  expect(client.slot().minProgress.load() == 0, "it was not minimum progress");
  region.holds[0].active.fetch_and(~std::uint64_t{1u << 9});
}

void waits_launch_by_launch() { waits(1); }
void waits_deep() { waits(0); }

void never_for_ever() {
  for (const std::uint32_t submission : {0u, 1u}) {
    static BestEffort client;
    auto& region = client.agent.region();
    region.settings.whenActive = kAllow;
    region.settings.submission = submission;
    region.settings.progressAfterUs = 100'000;
    static Buffers buffers(kMiB);
    CUstream stream = make_stream();
    const std::uint64_t before = now_ms();
    region.holds[0].high[9].copyUntil = kTillTheEnd;
    region.holds[0].active.fetch_or(1u << 9);
    OK(cuda().cuMemcpyDtoHAsync_v2(buffers.host, buffers.device, kMiB, stream));
    OK(cuda().cuStreamSynchronize(stream));
    expect(now_ms() - before >= 100, "the copy waited");
    expect(client.slot().minProgress.load() > 0, "and went as minimum progress");
  }
}

// A client that died in the middle of a copy is not active for long, and then nobody's copy counts.
void an_idle_client_copies_nothing() {
  BestEffort client;
  auto& region = client.agent.region();
  region.settings.whenActive = kAllow;
  region.settings.submission = 1;
  region.holds[0].high[9].copyUntil = kTillTheEnd;
  Buffers buffers(kMiB);
  OK(cuda().cuMemcpyHtoD_v2(buffers.device, buffers.host, kMiB));
  expect(client.slot().minProgress.load() == 0, "no pause");
}

// Copies that name no direction go by where their ends are.
void copies_without_a_direction() {
  BestEffort client;
  auto& region = client.agent.region();
  region.settings.whenActive = kAllow;
  region.settings.submission = 1;
  region.settings.progressAfterUs = 1'000'000;
  Buffers buffers(kMiB);
  region.holds[0].high[9].copyUntil = kTillTheEnd;
  region.holds[0].active.fetch_or(1u << 9);
  CUstream stream = make_stream();
  OK(cuda().cuMemcpyAsync(buffers.other, buffers.device, kMiB, stream));
  OK(cuda().cuStreamSynchronize(stream));
  Asked out(client, [&] {
    OK(cuda().cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(buffers.host), buffers.device, kMiB, stream));
  });
  sleep_ms(60);
  expect(!out.through, "one to the host waits, one within the GPU did not");
  region.holds[0].active.fetch_and(~std::uint64_t{1u << 9});
}

// The other side: what a high client says of its copies.
void in_flight_as_long_as_expected() {
  High high;
  Buffers buffers(8 * kMiB);
  auto& until = high.agent.page().high[0].copyUntil;
  CUstream stream = make_stream();
  OK(cuda().cuMemcpyHtoDAsync_v2(buffers.device, buffers.host, 8 * kMiB, stream));
  const std::uint64_t said = until.load();
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const std::uint64_t now =
      static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
  expect(said != 0 && said < now + 1'000'000, "8 MiB are in flight for less than a millisecond");
  high.program.run_us(1'000, stream);
  OK(cuda().cuStreamSynchronize(stream));
  high.idle("after the stream was synchronised");
  expect(until.load() == 0, "nothing is in flight after the request");
}

void to_the_host_until_it_is_seen() {
  High high;
  Buffers buffers(kMiB);
  auto& until = high.agent.page().high[0].copyUntil;
  CUstream stream = make_stream();
  CUstream longer = make_stream();
  CUevent copied = make_event();
  high.program.run_us(1'000, stream);
  OK(cuda().cuMemcpyDtoHAsync_v2(buffers.host, buffers.device, kMiB, stream));
  OK(cuda().cuEventRecord(copied, stream));
  expect(until.load() == kTillTheEnd, "a copy that comes after kernels is in flight until it is seen");
  high.program.run_us(200'000, longer);
  OK(cuda().cuEventSynchronize(copied));
  high.busy("because another stream is");
  expect(until.load() == 0, "it was seen complete within the request");
  OK(cuda().cuMemcpyDtoH_v2(buffers.host, buffers.device, kMiB));
  expect(until.load() == 0, "a synchronous copy is over when it returns");
  OK(cuda().cuStreamSynchronize(longer));
}

constexpr Case kCases[] = {
    {"a copy waits for a high client's, launch by launch", waits_launch_by_launch},
    {"a copy waits for a high client's, submitted deep", waits_deep},
    {"a copy never waits for ever", never_for_ever},
    {"a client that is not active has no copy in flight", an_idle_client_copies_nothing},
    {"a copy without a direction goes by its ends", copies_without_a_direction},
    {"a high client's copy to the device is in flight as long as expected", in_flight_as_long_as_expected},
    {"a high client's copy to the host is in flight until it is seen", to_the_host_until_it_is_seen},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
