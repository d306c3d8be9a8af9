// Another interposer (lib/tool.cpp) before and behind ours.
#include "../fixture.h"

using namespace harness;

namespace {

unsigned seen(const char* counter) {
  const auto* place = static_cast<unsigned*>(dlsym(RTLD_DEFAULT, counter));
  expect(place != nullptr, "the other interposer is there");
  return *place;
}

void expect_both(BestEffort& client) {
  const std::uint64_t launches = client.slot().launches.load();
  const unsigned tools = seen("tool_launches");
  CUstream stream = make_stream();
  client.warm(300, stream);
  expect(client.slot().launches.load() == launches + 40, "every launch is counted once");
  expect(client.slot().chunks.load() > 0, "there are borders");
  expect(seen("tool_launches") == tools + 40, "the other one sees each launch once");
  const unsigned allocations = seen("tool_allocations");
  CUdeviceptr memory = 0;
  OK(cuda().cuMemAlloc_v2(&memory, 1 << 20));
  expect(client.slot().memoryUsed.load() >= 1 << 20, "the quota counts it");
  expect(seen("tool_allocations") == allocations + 1, "the other one counts it once, too");
}

constexpr char kQuota[] = "314572800";

void by_name() {
  BestEffort client(kQuota);
  expect_both(client);
}

void by_version() {
  BestEffort client(kQuota);
  const auto get = [](const char* name, auto& place) {
    void* found = nullptr;
    OK(cuda().cuGetProcAddress_v2(name, &found, 12000, 0, nullptr));
    place = reinterpret_cast<std::decay_t<decltype(place)>>(found);
  };
  get("cuLaunchKernel", cuda().cuLaunchKernel);
  get("cuMemAlloc", cuda().cuMemAlloc_v2);
  expect_both(client);
}

constexpr Case kCases[] = {
    {"both see what is found by name", by_name},
    {"both see what is found by version", by_version},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
