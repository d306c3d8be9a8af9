// Parking by the driver's checkpoint of the process, where memory is not movable.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>

#include "client.h"

using namespace harness;

namespace {

using cotenant::protocol::ParkState;

constexpr std::size_t kBytes = 20 * kMiB;

// Started without --movable.
struct Fixed : Movable {
  Fixed() : Movable("0", "0", false) {}
};

void there_and_back() {
  Fixed client;
  const CUdeviceptr made = allocate(kBytes);
  const auto words = pattern(kBytes, 1);
  write(made, words);
  for (int round = 0; round < 2; ++round) {
    client.parked();
    expect(client.memory().byDriver == 1 && client.memory().movable == 0, "the driver has it");
    expect(client.memory().parkedBytes.load() == kBytes, "all of it");
    client.returned();
    expect(client.memory().byDriver == 0 && holds(made, words), "every byte is back");
  }
}

void launches_wait() {
  Fixed client;
  const CUdeviceptr word = allocate(4);
  write(word, {1});
  CUstream stream = make_stream();
  client.parked();
  std::atomic<bool> through{false};
  std::thread program([&] {
    OK(cuda().cuCtxSetCurrent(client.program.context));
    client.program.store_us(10, word, 2, stream);
    OK(cuda().cuStreamSynchronize(stream));
    through = true;
  });
  sleep_ms(300);
  expect(!through && client.state() == ParkState::kParked, "calls wait while the process is checkpointed");
  client.returned();
  program.join();
  expect(holds(word, {2}), "and take place after the return");
  expect(client.slot().minProgress.load() == 0, "no progress meanwhile");
}

// Earlier launches complete, as the hold allows it.
void beside_running_work() {
  Fixed client;
  client.agent.region().roster.registered = 1;
  const CUdeviceptr word = allocate(4);
  write(word, {0});
  CUstream stream = make_stream();
  std::atomic<bool> over{false};
  std::atomic<unsigned> last{0};
  std::thread program([&] {
    OK(cuda().cuCtxSetCurrent(client.program.context));
    for (unsigned i = 1; !over; ++i) {
      client.program.store_us(20, word, i, stream);
      if (i % 16 == 0) OK(cuda().cuStreamSynchronize(stream));
      last = i;
    }
    OK(cuda().cuStreamSynchronize(stream));
  });
  for (int round = 0; round < 5; ++round) {
    client.parked();
    client.returned();
  }
  over = true;
  program.join();
  expect(holds(word, {last}), "every launch took place");
}

void refused() {
  setenv("COTENANT_SOFTGPU", "checkpoints=refused", 1);
  Fixed client;
  const CUdeviceptr made = allocate(kBytes);
  client.park();
  expect(client.state() == ParkState::kOpen, "it is not parked");
  expect(std::string(client.memory().parkReason).find("the driver has no checkpoint") != std::string::npos,
         std::string("and says why: ") + client.memory().parkReason);
  write(made, {5});
  expect(holds(made, {5}), "and goes on");
}

// The driver might lose it.
void with_managed_memory() {
  Fixed client;
  CUdeviceptr managed = 0;
  OK(cuda().cuMemAllocManaged(&managed, kMiB, CU_MEM_ATTACH_GLOBAL));
  client.park();
  expect(client.state() == ParkState::kOpen, "it is not parked");
  expect(std::string(client.memory().parkReason).find("managed memory") != std::string::npos, "and says why");
}

void with_shared_memory() {
  Fixed client;
  CUipcMemHandle handle{};
  const CUresult given = cuda().cuIpcGetMemHandle(&handle, allocate(kMiB));
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemGenericAllocationHandle memory = 0;
  OK(cuda().cuMemCreate(&memory, 2 * kMiB, &properties, 0));
  int file = -1;
  if (given != CUDA_SUCCESS)
    OK(cuda().cuMemExportToShareableHandle(&file, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  client.park();
  expect(client.state() == ParkState::kOpen, "it is not parked");
  expect(std::string(client.memory().parkReason).find("another process") != std::string::npos, "and says why");
}

void lost() {
  setenv("COTENANT_SOFTGPU", "checkpoints=lost", 1);
  Fixed client;
  allocate(kBytes);
  client.parked();
  client.ask(false);
  eventually([&] { return client.memory().parkReason[0] != '\0'; }, "it says why it is not back");
  expect(std::string(client.memory().parkReason).find("it cannot go on") != std::string::npos,
         client.memory().parkReason);
  expect(client.state() == ParkState::kReturning, "and it is not");
  client.park();
  expect(client.state() == ParkState::kReturning, "nor is it parked");
  _exit(0);  // the driver does not answer any more
}

// A client with movable memory falls back to it, if all of its memory is wanted.
void nothing_movable() {
  Movable client;
  CUdeviceptr made = 0;
  OK(cuda().cuMemAllocAsync(&made, kBytes, nullptr));
  OK(cuda().cuStreamSynchronize(nullptr));
  const auto words = pattern(kBytes, 4);
  write(made, words);
  client.ask(true, kMiB);
  client.answered("the command for a part is dealt with");
  expect(client.state() == ParkState::kOpen, "a part of it cannot be parked");
  client.parked();
  expect(client.memory().byDriver == 1, "all of it is taken by the driver");
  client.returned();
  expect(holds(made, words), "every byte is back");
}

void agent_dies() {
  Fixed client;
  const CUdeviceptr made = allocate(kBytes);
  write(made, {7});
  client.parked();
  client.agent.end();
  eventually([&] { return client.state() == ParkState::kOpen; }, "it comes back by itself");
  expect(holds(made, {7}), "with its memory");
}

// No slot is there for it: it is not unheld there, but as a client that never had an agent.
void moved_without_agent() {
  setenv("COTENANT_SOFTGPU", "devices=2", 1);
  Fixed client;
  const CUdeviceptr made = allocate(kBytes);
  const auto words = pattern(kBytes, 5);
  write(made, words);
  CUuuid other{};
  OK(cuda().cuDeviceGetUuid_v2(&other, 1));
  unlink(socket_path().c_str());
  for (std::size_t i = 0; i < sizeof other.bytes; ++i)
    client.memory().moveTo[i] = static_cast<unsigned char>(other.bytes[i]);
  client.ask(false);
  const auto is_there = [&] {
    CUuuid now{};
    OK(cuda().cuDeviceGetUuid_v2(&now, 0));
    return std::equal(std::begin(now.bytes), std::end(now.bytes), std::begin(other.bytes));
  };
  eventually(is_there, "it is on the other GPU");
  expect(holds(made, words), "every byte is there");
  CUstream stream = make_stream();
  client.program.store_us(10, made, 9, stream);
  OK(cuda().cuStreamSynchronize(stream));
  expect(holds(made, {9}), "it goes on");
  expect(client.slot().launches.load() == 0, "and no longer with its slot on the old one");
}

void terminated() { ends_by_sigterm("its child is checkpointed", "a checkpointed process ends when it is told to"); }

void checkpointed_child() {
  Fixed client;
  allocate(kBytes);
  client.parked();
  kill(getpid(), SIGTERM);
  sleep_ms(60'000);
}

constexpr Case kCases[] = {
    {"the driver's checkpoint takes all memory and returns every byte", there_and_back},
    {"launches wait while the process is checkpointed", launches_wait},
    {"a checkpoint beside a thread that launches loses nothing", beside_running_work},
    {"a driver that refuses is named as the reason", refused},
    {"a client with managed memory is not checkpointed", with_managed_memory},
    {"a client that shares memory is not checkpointed", with_shared_memory},
    {"a process that the driver loses is told of", lost},
    {"a client whose memory cannot be parked falls back to the driver's checkpoint", nothing_movable},
    {"a checkpointed client comes back when the agent dies", agent_dies},
    {"a client that finds no agent on the other GPU goes on without one", moved_without_agent},
    {"a checkpointed process can be terminated", terminated},
};
constexpr Case kChild[] = {{"its child is checkpointed", checkpointed_child}};

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && run_case(kChild, count, arguments) == 0) return 0;
  return run_case(kCases, count, arguments);
}
