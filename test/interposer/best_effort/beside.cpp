// Data for policies that look at single kernels, from both classes, and the limits that some of them set.
#include <algorithm>

#include "../fixture.h"

using namespace harness;
using cotenant::protocol::KernelEntry;
using cotenant::protocol::KernelTable;

namespace {

enum Class : std::uint32_t { kUnknown, kCompute, kMemory };
constexpr std::uint32_t kWait = 0, kAllowOpposite = 1, kAllow = 2, kAllowFitting = 4;

struct Entry {
  const char* name;
  unsigned blocks;
  Class kernel_class;
  std::uint32_t sms;
  std::uint32_t ns;
};

// FNV-1a of the name, the grid and the block.
std::uint64_t key_of(const Entry& entry) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  const auto add = [&](const void* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3ull;
  };
  const unsigned shape[] = {entry.blocks, 1, 1, 128, 1, 1};
  add(entry.name, std::strlen(entry.name));
  add(shape, sizeof shape);
  return hash;
}

// Writes the file of `cotenant run --profile`, before its client begins.
void profiled(std::vector<Entry> entries, const char* gpu = "Cotenant Software GPU", std::uint32_t claimed = 0) {
  KernelTable table{};
  table.magic = cotenant::protocol::KERNEL_TABLE_MAGIC;
  table.version = cotenant::protocol::VERSION;
  table.count = static_cast<std::uint32_t>(entries.size()) + claimed;
  std::snprintf(table.gpuName, sizeof table.gpuName, "%s", gpu);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return key_of(a) < key_of(b); });
  const std::string path = std::string(getenv("COTENANT_SOFTGPU_DIR")) + "/kernels.table";
  std::FILE* file = std::fopen(path.c_str(), "w");
  expect(file && std::fwrite(&table, sizeof table, 1, file) == 1, "the table is written");
  for (const Entry& each : entries) {
    KernelEntry entry{};
    entry.key = key_of(each);
    entry.class_ = each.kernel_class;
    entry.sms = each.sms;
    entry.durationNs = each.ns;
    expect(std::fwrite(&entry, sizeof entry, 1, file) == 1, "the entry is written");
  }
  std::fclose(file);
  setenv("COTENANT_KERNELS", path.c_str(), 1);
}

struct Published {
  std::uint32_t kernel_class;
  std::uint32_t sms;
  std::uint32_t us;
};
Published published(High& high) {
  const auto& page = high.agent.page();
  const std::uint32_t kernel = page.highKernel.load();
  return {kernel >> 16, kernel & 0xffff, page.highKernelUs.load()};
}
void expect_published(High& high, Published wanted) {
  const Published found = published(high);
  const auto text = [](const Published& p) {
    return std::to_string(p.kernel_class) + "/" + std::to_string(p.sms) + "/" + std::to_string(p.us);
  };
  expect(text(found) == text(wanted), "class/SMs/us are " + text(wanted) + ", not " + text(found));
}

void a_high_kernel_is_published() {
  profiled({{"spin", 132, kMemory, 9, 777'100}, {"spin", 264, kCompute, 17, 1'000}});
  High high;
  CUstream stream = make_stream();
  high.program.run_us(100, stream);
  expect_published(high, {0, 0, 0});  // nobody asked
  high.agent.region().settings.wantKernels = 1;
  for (int i = 0; i < 2; ++i) {  // asked of the driver, then remembered
    high.program.run_us(100, stream, 132);
    expect_published(high, {kMemory, 9, 778});
    high.program.run_us(100, stream, 264);
    expect_published(high, {kCompute, 17, 1});
    high.program.run_us(100, stream, 16);
    expect_published(high, {kUnknown, 1, 0});
  }
  OK(cuda().cuStreamSynchronize(stream));
}

CUgraphExec graph_of(const Program& program, CUstream stream, const std::vector<unsigned>& blocks) {
  CUgraph graph = nullptr;
  CUgraphExec instance = nullptr;
  OK(cuda().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (const unsigned each : blocks) program.run_us(50, stream, each);
  OK(cuda().cuStreamEndCapture(stream, &graph));
  OK(cuda().cuGraphInstantiateWithFlags(&instance, graph, 0));
  return instance;
}

void a_graph_has_the_class_of_most_of_its_time() {
  profiled({{"spin", 132, kMemory, 9, 50'000}, {"spin", 264, kCompute, 17, 80'000}});
  High high;
  high.agent.region().settings.wantKernels = 1;
  CUstream stream = make_stream();
  CUgraphExec memory = graph_of(high.program, stream, {132, 132, 264});
  CUgraphExec compute = graph_of(high.program, stream, {132, 264});
  CUgraphExec partly = graph_of(high.program, stream, {264, 31});
  OK(cuda().cuGraphLaunch(memory, stream));
  expect_published(high, {kMemory, 17, 180});
  OK(cuda().cuGraphLaunch(compute, stream));
  expect_published(high, {kCompute, 17, 130});
  OK(cuda().cuGraphLaunch(partly, stream));
  expect_published(high, {kCompute, 0, 0});
  OK(cuda().cuStreamSynchronize(stream));
}

// A profile that can't be used is said and forgotten.
void foreign(const char* gpu, std::uint32_t claimed) {
  profiled({{"spin", 132, kMemory, 9, 1'000}}, gpu, claimed);
  High high;
  high.agent.region().settings.wantKernels = 1;
  CUstream stream = make_stream();
  high.program.run_us(100, stream);
  expect_published(high, {kUnknown, 9, 0});
  OK(cuda().cuStreamSynchronize(stream));
}
void a_table_of_another_gpu() { foreign("NVIDIA H200", 0); }
void a_table_cut_short() { foreign("Cotenant Software GPU", 3); }

void without_a_table() {
  setenv("COTENANT_KERNELS", "/nonexistent/kernels.table", 1);
  High high;
  high.agent.region().settings.wantKernels = 1;
  CUstream stream = make_stream();
  high.program.run_us(100, stream);
  expect_published(high, {kUnknown, 9, 0});
  OK(cuda().cuStreamSynchronize(stream));
}

// Launch by launch, beside a request; the kernels in use are known already.
struct Beside : BestEffort {
  CUstream stream = make_stream();
  Word word;

  explicit Beside(std::uint32_t when_active) {
    auto& settings = agent.region().settings;
    settings.submission = 1;
    settings.whenActive = when_active;
    settings.activeAheadUs = 1'000;
    settings.smLimit = 132;
    settings.maxKernelUs = 100'000;
    settings.progressAfterUs = 150'000;
  }
  void learn(unsigned blocks) {
    for (int i = 0; i < 8; ++i) {
      program.run_us(50, stream, blocks);
      OK(cuda().cuStreamSynchronize(stream));
    }
  }
  // Whether such a kernel goes at once rather than as minimum progress.
  bool passes(unsigned blocks) {
    const std::uint64_t before = slot().minProgress.load();
    program.run_us(50, stream, blocks);
    OK(cuda().cuStreamSynchronize(stream));
    return slot().minProgress.load() == before;
  }
  void high_runs(Class kernel_class, std::uint32_t sms, std::uint32_t us) {
    agent.page().highKernel = static_cast<std::uint32_t>(kernel_class) << 16 | sms;
    agent.page().highKernelUs = us;
  }
};

void only_the_opposite_class() {
  profiled({{"spin", 16, kCompute, 1, 50'000}, {"spin", 32, kMemory, 2, 50'000}});
  Beside client(kAllowOpposite);
  for (const unsigned blocks : {16u, 32u, 48u}) client.learn(blocks);
  client.request_begins();
  client.high_runs(kCompute, 132, 0);
  expect(!client.passes(16), "compute beside compute waits");
  expect(client.passes(32), "memory beside compute does not");
  expect(client.passes(48), "nor does what no profile knows");
  client.high_runs(kMemory, 132, 0);
  expect(client.passes(16), "compute beside memory does not wait");
  expect(!client.passes(32), "memory beside memory does");
  client.request_ends();
}

// A training beside one that is always active would otherwise wait for minimum progress at each of its fills.
void memory_operations_need_no_sms() {
  Beside client(kAllowOpposite);
  CUdeviceptr memory[2];
  for (CUdeviceptr& each : memory) OK(cuda().cuMemAlloc_v2(&each, 4096));
  client.request_begins();
  client.high_runs(kCompute, 132, 0);
  OK(cuda().cuMemsetD8Async(memory[0], 0, 4096, client.stream));
  OK(cuda().cuMemcpyDtoDAsync_v2(memory[1], memory[0], 4096, client.stream));
  OK(cuda().cuStreamSynchronize(client.stream));
  expect(client.slot().minProgress.load() == 0, "fills and copies go beside a kernel of any class");
  client.request_ends();
}

void only_what_fits() {
  Beside client(kAllowFitting);
  for (const unsigned blocks : {16u, 1'600u}) client.learn(blocks);  // 1 and 100 SMs
  client.request_begins();
  client.high_runs(kUnknown, 120, 100'000);
  expect(client.passes(16), "a kernel of one SM fits beside one of 120");
  expect(!client.passes(1'600), "one of a hundred does not");
  client.high_runs(kUnknown, 120, 1);
  expect(!client.passes(16), "nor one that ends later");
  client.high_runs(kUnknown, 0, 100'000);
  expect(!client.passes(16), "beside a kernel of unknown size nothing fits");
  client.request_ends();
}

void launches_are_paced() {
  Beside client(kAllow);
  client.learn(16);
  client.agent.region().settings.launchEveryNs = 5'000'000;
  const std::uint64_t before = now_ms();
  for (int i = 0; i < 21; ++i) client.program.run_us(50, client.stream, 16);
  OK(cuda().cuStreamSynchronize(client.stream));
  expect(now_ms() - before >= 19 * 5, "21 launches 5 ms apart take 100 ms, less what was saved up");
}

void a_budget_is_spent() {
  Beside client(kAllow);
  constexpr unsigned kLong = 17;
  const auto run = [&](std::uint64_t us, unsigned blocks, CUevent after) {
    client.program.run_us(us, client.stream, blocks);
    OK(cuda().cuEventRecord(after, client.stream));
  };
  CUevent first = make_event();
  CUevent second = make_event();
  client.learn(16);
  for (int i = 0; i < 3; ++i) {
    run(300'000, kLong, first);
    OK(cuda().cuStreamSynchronize(client.stream));
  }
  client.agent.region().settings.budgetUs = 400'000;
  run(300'000, kLong, first);
  run(300'000, kLong, second);
  expect(cuda().cuEventQuery(first) == CUDA_ERROR_NOT_READY, "within its budget nothing waits, though much is out");
  client.program.run_us(50, client.stream, 16);
  expect(cuda().cuEventQuery(second) == CUDA_SUCCESS, "over the budget nothing is launched until all has ended");
  OK(cuda().cuStreamSynchronize(client.stream));
}

// Deep submission, side by side: a chunk each passes while a request is active.
void chunks_beside_a_request() {
  BestEffort client;
  auto& settings = client.agent.region().settings;
  settings.isolated = 0;
  settings.whenActive = kWait;
  settings.coRunEveryUs = 2'000;
  settings.progressAfterUs = 1'000'000;
  settings.submitUs = 100'000;
  settings.submitLaunches = 800;
  constexpr unsigned kMany = 700;  // which take 0.7 s at least that way
  CUstream stream = make_stream();
  Word word;
  client.warm(100, stream);
  for (int i = 0; i < 8; ++i) client.program.store_us(100, word.device, 0, stream);
  OK(cuda().cuStreamSynchronize(stream));
  client.request_begins();
  for (unsigned i = 1; i <= kMany; ++i) client.program.store_us(100, word.device, i, stream);
  eventually([&] { return *word.host >= 4; }, "some of it runs concurrently with the request");
  expect(client.agent.page().active.load() != 0, "the request was active all the time");
  expect(client.slot().minProgress.load() == 0, "these are no emergencies");
  settings.coRunEveryUs = 0;
  sleep_ms(30);
  const unsigned at = *word.host;
  sleep_ms(50);
  expect(*word.host == at && at < kMany, "without the rule nothing does");
  client.request_ends();
  OK(cuda().cuStreamSynchronize(stream));
}

// Under graceUs released work goes on beside a young request. The client stops itself when the request is so old, and
// goes on when it ends. How much has run by then depends on the machine; seldom is it all.
void a_request_that_holds_later() {
  BestEffort client;
  auto& settings = client.agent.region().settings;
  auto& page = client.agent.page();
  settings.whenActive = kWait;
  settings.graceUs = 20'000;
  settings.resumeDelayUs = 0;
  settings.progressAfterUs = 1'000'000;
  settings.submitUs = 100'000;
  constexpr unsigned kMany = 40;  // ms of work, less than may be queued
  CUstream stream = make_stream();
  Word word;
  for (int i = 0; i < 40; ++i) {  // until it is known how long it takes
    client.program.store_us(1000, word.device, 0, stream);
    if (i % 4 == 3) OK(cuda().cuStreamSynchronize(stream));
  }
  unsigned at = kMany;
  for (int attempt = 0; attempt < 20 && at == kMany; ++attempt) {
    client.program.store_us(1000, word.device, 0, stream);
    OK(cuda().cuStreamSynchronize(stream));
    page.high[9].burstSince.store(0);  // long ago: it holds until all is queued
    page.word.store(1);
    page.active.store(BestEffort::kRequest);
    for (unsigned i = 1; i <= kMany; ++i) client.program.store_us(1000, word.device, i, stream);
    const std::uint64_t begun = client.now();
    page.high[9].burstSince.store(begun);
    eventually([&] { return page.word.load() == 0 || *word.host == kMany; }, "a young request does not hold it");
    eventually([&] { return page.word.load() != 0; }, "the client holds itself when the request is old");
    expect(client.now() - begun >= 20'000'000, "no sooner");
    sleep_ms(5);
    at = *word.host;
    sleep_ms(50);
    expect(*word.host == at, "then nothing runs");
    client.request_ends();
    OK(cuda().cuStreamSynchronize(stream));
    expect(*word.host == kMany, "all of it has run");
  }
  expect(at > 0 && at < kMany,
         "some of it ran concurrently with the request, and some was held: " + std::to_string(at));
  expect(client.slot().minProgress.load() == 0, "no emergency was needed");
}

constexpr Case kCases[] = {
    {"a high kernel's class, SMs and duration are published where asked for", a_high_kernel_is_published},
    {"a graph has the class of most of its time", a_graph_has_the_class_of_most_of_its_time},
    {"a table of another GPU is not used", a_table_of_another_gpu},
    {"a table cut short is not used", a_table_cut_short},
    {"without a table classes are unknown", without_a_table},
    {"beside a request only the opposite class, unknown ones included", only_the_opposite_class},
    {"beside a request fills and copies go, which need no SMs", memory_operations_need_no_sms},
    {"beside a request only what fits and ends in time", only_what_fits},
    {"launches are paced", launches_are_paced},
    {"over its budget a client waits until all has ended", a_budget_is_spent},
    {"chunks pass beside a request, no more than the rule says", chunks_beside_a_request},
    {"work goes on beside a request until it is old enough to hold it", a_request_that_holds_later},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
