// A driver that loads another one (lib/outer.cpp).
#include "../fixture.h"

using namespace harness;

namespace {

// As the CUDA runtime finds the driver: all by cuGetProcAddress.
void by_version() {
  BestEffort client;
  const auto get = [](const char* name, auto& place) {
    void* found = nullptr;
    OK(cuda().cuGetProcAddress_v2(name, &found, 12000, 0, nullptr));
    place = reinterpret_cast<std::decay_t<decltype(place)>>(found);
  };
  get("cuLaunchKernel", cuda().cuLaunchKernel);
  get("cuStreamSynchronize", cuda().cuStreamSynchronize);
  get("cuStreamCreate", cuda().cuStreamCreate);
  CUstream stream = make_stream();
  client.warm(300, stream);
  expect(client.slot().launches.load() == 40, "every launch is counted once");
  expect(client.slot().chunks.load() > 0, "there are borders");
}

void by_name() {
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(300, stream);
  expect(client.slot().launches.load() == 40, "every launch is counted once");
  expect(client.slot().chunks.load() > 0, "there are borders");
}

constexpr Case kCases[] = {
    {"what the outer driver is asked for by version is gated", by_version},
    {"what it exports is gated", by_name},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
