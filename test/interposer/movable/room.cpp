// An allocation of a high client that the driver refuses waits while the agent takes memory from best-effort clients.
#include "../fixture.h"

using namespace harness;

namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;
constexpr std::uint64_t kTags = cotenant::protocol::WANTED_TAGS;

struct Full : High {
  CUdeviceptr others = 0;  // most of the GPU's 16 GiB
  Full() {
    agent.region().roster.movers = 1;
    OK(cuda().cuMemAlloc_v2(&others, 12 * kGiB));
  }
  auto& wanted() { return agent.region().high[0].memory.memoryWanted; }
  void answer(std::uint64_t tag, bool comes) {
    answers += 2;
    agent.region().high[0].memory.memoryAnswer = static_cast<std::uint32_t>(tag << 24 | answers | (comes ? 1 : 0));
  }
  std::uint32_t answers = 0;
};

CUresult allocate() {
  CUdeviceptr made = 0;
  return cuda().cuMemAlloc_v2(&made, 8 * kGiB);
}

void memory_comes() {
  Full client;
  std::thread agent([&] {
    eventually([&] { return client.wanted().load() / kTags == 8 * kGiB / kTags; }, "the agent is told what is wanted");
    // As the agent does; in all longer than a client waits that hears nothing.
    for (int i = 0; i < 40; ++i, sleep_ms(10)) client.answer(client.wanted() % kTags, true);
    OK(cuda().cuCtxSetCurrent(client.program.context));
    OK(cuda().cuMemFree_v2(client.others));
  });
  expect(allocate() == CUDA_SUCCESS, "the allocation succeeds when memory is there");
  agent.join();
  expect(client.wanted().load() == 0, "nothing is wanted any more");
}

void other_families() {
  Full client;
  for (int family = 0; family < 3; ++family) {
    std::thread agent([&] {
      eventually([&] { return client.wanted().load() != 0; }, "it is asked for");
      client.answer(client.wanted() % kTags, false);
    });
    CUdeviceptr made = 0;
    std::size_t pitch = 0;
    CUmemGenericAllocationHandle handle = 0;
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    const CUresult result = family == 0   ? cuda().cuMemAllocAsync(&made, 8 * kGiB, nullptr)
                            : family == 1 ? cuda().cuMemAllocPitch_v2(&made, &pitch, 1 << 20, 8 << 10, 4)
                                          : cuda().cuMemCreate(&handle, 8 * kGiB, &properties, 0);
    agent.join();
    expect(result == CUDA_ERROR_OUT_OF_MEMORY, "what cannot be had is refused as the driver refuses it");
  }
}

// As from an agent that had looked before the allocation.
void an_answer_to_another() {
  Full client;
  std::atomic<bool> told{false};
  std::thread agent([&] {
    eventually([&] { return client.wanted().load() != 0; }, "it is asked for");
    client.answer((client.wanted() + 1) % kTags, false);
    sleep_ms(50);
    OK(cuda().cuCtxSetCurrent(client.program.context));
    told = true;
    OK(cuda().cuMemFree_v2(client.others));
  });
  expect(allocate() == CUDA_SUCCESS, "what is said of another allocation does not end the wait");
  expect(told, "it waited");
  agent.join();
}

void what_it_may_take_is_free() {
  Full client;
  std::size_t before = 0;
  std::size_t free = 0;
  std::size_t total = 0;
  OK(cuda().cuMemGetInfo_v2(&before, &total));
  client.agent.region().roster.takeable = 3 * kGiB;
  OK(cuda().cuMemGetInfo_v2(&free, &total));
  expect(free == before + 3 * kGiB, "memory of best-effort clients that would be parked counts as free");
  client.agent.region().roster.takeable = 1000 * kGiB;
  OK(cuda().cuMemGetInfo_v2(&free, &total));
  expect(free == total, "but no more than there is");
}

void the_agent_is_silent() {
  Full client;
  expect(allocate() == CUDA_ERROR_OUT_OF_MEMORY, "the wait ends by itself");
  client.agent.end();
  expect(allocate() == CUDA_ERROR_OUT_OF_MEMORY, "also without an agent");
  expect(client.wanted().load() == 0, "nothing is wanted any more");
}

void nobody_to_take_from() {
  Full client;
  client.agent.region().roster.bestEffort = 1;
  client.agent.region().roster.movers = 0;
  std::atomic<bool> over{false};
  std::atomic<bool> asked{false};
  std::thread looking([&] {
    while (!over) asked = asked || client.wanted().load() != 0;
  });
  expect(allocate() == CUDA_ERROR_OUT_OF_MEMORY, "it is refused");
  over = true;
  looking.join();
  expect(!asked, "and nobody is asked");
}

// Memory that is released counts as the driver's before the agent has seen that it is not the client's any more.
void figures_of_one_moment() {
  High client(Says::kNothing);
  auto& roster = client.agent.region().roster;
  CUdeviceptr others = 0;
  OK(cuda().cuMemAlloc_v2(&others, 4 * kGiB));
  roster.movers = 1;
  roster.takeable = 4 * kGiB;
  roster.takeableAt = 1;
  std::atomic<bool> released{false};
  std::atomic<bool> over{false};
  std::thread agent([&] {
    for (std::uint64_t look = 2; !over; ++look, sleep_ms(5)) {
      if (released) roster.takeable = 0;
      roster.takeableAt = look;
    }
  });
  const auto told = [] {
    std::size_t left = 0;
    std::size_t total = 0;
    OK(cuda().cuMemGetInfo_v2(&left, &total));
    return left;
  };
  const std::size_t before = told();
  OK(cuda().cuMemFree_v2(others));
  released = true;
  const std::size_t after = told();
  over = true;
  agent.join();
  expect(before == after, "what is told does not change when memory leaves the GPU");
}

constexpr Case kCases[] = {
    {"a refused allocation waits until memory is there", memory_comes},
    {"each family of allocation asks for memory", other_families},
    {"an answer to another allocation is none", an_answer_to_another},
    {"an agent that says nothing is not waited for", the_agent_is_silent},
    {"beside best-effort clients that cannot park memory nothing is asked for", nobody_to_take_from},
    {"memory that it may take is free for a service", what_it_may_take_is_free},
    {"what a starting service is told is of one moment", figures_of_one_moment},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
