// Several processes on one software device: turns, memory, death.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "child.h"
#include "softgpu/device/device.h"

namespace {

constexpr float kSlice = 1.024f;  // ms

// Device time of `count` kernels of `microseconds` on `sms` SMs, one after the other, in ms.
float chain(const Gpu& gpu, int count, std::uint64_t microseconds, unsigned sms = 132) {
  const CUstream s = gpu.stream();
  CUevent a = nullptr, b = nullptr;
  OK(cuEventCreate(&a, 0));
  OK(cuEventCreate(&b, 0));
  const Hold hold;
  hold.close(s);
  OK(cuEventRecord(a, s));
  for (int i = 0; i < count; ++i) gpu.run(s, microseconds, sms);
  OK(cuEventRecord(b, s));
  hold.open();
  OK(cuEventSynchronize(b));
  float ms = 0;
  OK(cuEventElapsedTime(&ms, a, b));
  return ms;
}

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  OK(cuMemGetInfo_v2(&free, &total));
  return free;
}

// The state that all processes share.
const cotenant::soft::Shared& devices() {
  const int file = open((std::string(std::getenv("COTENANT_SOFTGPU_DIR")) + "/devices").c_str(), O_RDONLY);
  void* pages = mmap(nullptr, sizeof(cotenant::soft::Shared), PROT_READ, MAP_SHARED, file, 0);
  EXPECT(pages != MAP_FAILED, "the status file can be mapped");
  return *static_cast<const cotenant::soft::Shared*>(pages);
}

}  // namespace

// --- what the other process does ------------------------------------------------------------------------------

CASE("child-kernel") {  // MICROSECONDS SMS
  const Gpu gpu;
  const CUstream s = gpu.stream();
  gpu.run(s, std::strtoull(arguments[0].c_str(), nullptr, 10), unsigned(std::atoi(arguments[1].c_str())));
  rest(5000);
  say_ready();
  OK(cuStreamSynchronize(s));
}

CASE("child-parked") {
  const Gpu gpu;
  const CUstream s = gpu.stream();
  const Word hold;
  OK(cuStreamWaitValue32_v2(s, hold.device, 1, CU_STREAM_WAIT_VALUE_EQ));
  for (int i = 0; i < 100; ++i) gpu.run(s, 10000);
  say_ready();
  rest(60'000'000);
}

CASE("child-memory") {  // MIB
  const Gpu gpu;
  gpu.memory(std::size_t(std::atoi(arguments[0].c_str())) << 20);
  say_ready();
  rest(60'000'000);
}

CASE("child-busy") {  // everything at once, until killed
  const Gpu gpu;
  const CUstream a = gpu.stream(), b = gpu.stream(CU_STREAM_DEFAULT, -5);
  const Word word;
  say_ready();
  for (unsigned i = 1;; ++i) {
    CUdeviceptr memory = 0;
    if (api().cuMemAlloc_v2(&memory, (i % 64 + 1) << 20) == CUDA_SUCCESS && i % 3 != 0) {
      OK(cuMemsetD8Async(memory, 1, 4096, a));
      OK(cuMemFree_v2(memory));
    }
    gpu.run(a, 200);
    gpu.run(b, 3000, 50);
    OK(cuStreamWriteValue32_v2(a, word.device, i, 0));
    OK(cuStreamWaitValue32_v2(b, word.device, i, CU_STREAM_WAIT_VALUE_GEQ));
    if (i % 4 == 0) {
      CUcontext extra = nullptr;
      OK(cuCtxCreate_v2(&extra, 0, 0));
      OK(cuCtxDestroy_v2(extra));
    }
    if (i % 5 == 0) OK(cuCtxSynchronize());
  }
}

CASE("child-exits-busy") {
  const Gpu gpu;
  gpu.run(gpu.stream(), 60'000'000);
  gpu.memory(1 << 30);
  rest(5000);
}

// --- turns ----------------------------------------------------------------------------------------------------

CASE("long-kernel-alternates") {
  const Gpu gpu;
  const float alone = chain(gpu, 30, 100);
  Child other({"child-kernel", "60000000", "132"});
  other.wait_ready();
  const float shared = chain(gpu, 30, 100);
  EXPECT(alone < 3.0f + kSlice, "nobody is waited for when nobody else wants the device");
  EXPECT(shared >= 3.0f + 1.9f * kSlice, "3 ms of short kernels lose two slices at least to another's long kernel");
  EXPECT(shared < 10000.0f, "they do not wait for the whole of it");
  report("{\"alone\":%.3f,\"shared\":%.3f}", double(alone), double(shared));
}

CASE("interrupted-kernel-ends") {
  const Gpu gpu;
  Child other({"child-kernel", "50000", "132"});
  other.wait_ready();
  chain(gpu, 30, 1000);
  EXPECT(other.end() == 0, "a long kernel ends well although it was interrupted");
  report("{}");
}

CASE("equal-shares") {
  const Gpu gpu;
  Child other({"child-kernel", "60000000", "132"});
  other.wait_ready();
  const float shared = chain(gpu, 1, 60000);
  EXPECT(shared >= 110.0f, "60 ms beside another busy context take nearly twice as long at least");
  report("{\"ms\":%.3f}", double(shared));
}

CASE("parked-context-is-skipped") {
  const Gpu gpu;
  Child other({"child-parked"});
  other.wait_ready();
  const float beside = chain(gpu, 30, 1000);
  EXPECT(beside < 30.0f + kSlice, "a context whose streams are all parked takes no slice");
  report("{\"ms\":%.3f}", double(beside));
}

CASE("stopped-process-does-not-hold-the-device") {
  const Gpu gpu;
  Child other({"child-kernel", "30000000", "132"});
  other.wait_ready();
  other.send(SIGSTOP);
  const float beside = chain(gpu, 3, 1000);
  report("{\"ms\":%.3f}", double(beside));
}

CASE("stopped-process-gets-no-turn-again") {
  const Gpu gpu;
  const auto& device = devices().device[0];
  Child other({"child-kernel", "300000", "132"});
  other.wait_ready();
  other.send(SIGSTOP);
  chain(gpu, 1, 1000);
  const std::uint32_t before = device.switches.load();
  for (int i = 0; i < 30; ++i) chain(gpu, 1, 1000);
  EXPECT(device.switches.load() == before, "between requests the turn does not go to a stopped process");
  other.send(SIGCONT);
  EXPECT(other.end() == 0, "its kernel ends when it goes on");
  report("{}");
}

CASE("mps-runs-side-by-side") {  // with COTENANT_SOFTGPU_MPS=1
  const Gpu gpu;
  Child other({"child-kernel", "600000", "64"});
  other.wait_ready();
  const float fits = chain(gpu, 30, 100, 60);
  EXPECT(fits < 3.0f + kSlice, "kernels that fit beside another process's run at once");
  const float full = chain(gpu, 1, 100, 132);
  EXPECT(full > 10.0f, "a kernel that needs all SMs waits for the other process's");
  report("{\"fits\":%.3f,\"full\":%.3f}", double(fits), double(full));
}

CASE("mps-thread-percentage") {  // with CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50 as well
  const Gpu gpu;
  const float ms = chain(gpu, 1, 1000, 132);
  EXPECT(ms >= 2.0f, "on half of the SMs a full kernel takes twice as long");
  report("{\"ms\":%.3f}", double(ms));
}

CASE("mps-survives-a-kill") {
  const Gpu gpu;
  Child other({"child-kernel", "60000000", "132"});
  other.wait_ready();
  other.end(SIGKILL);
  const float ms = chain(gpu, 1, 100, 132);
  report("{\"ms\":%.3f}", double(ms));
}

CASE("mps-stopped-process-keeps-no-sms") {
  const Gpu gpu;
  Child other({"child-kernel", "30000000", "132"});
  other.wait_ready();
  other.send(SIGSTOP);
  const float first = chain(gpu, 1, 1000, 132);
  chain(gpu, 30, 1000, 132);
  other.send(SIGCONT);
  report("{\"ms\":%.3f}", double(first));
}

// --- memory ---------------------------------------------------------------------------------------------------

CASE("memory-of-others-counts") {
  const Gpu gpu;
  const std::size_t before = free_bytes();
  {
    Child other({"child-memory", "1024"});
    other.wait_ready();
    EXPECT(free_bytes() == before - (std::size_t{1} << 30), "free memory falls by what another process allocates");
    other.leave_dead();
    EXPECT(free_bytes() == before, "memory of a zombie is free again");
  }
  EXPECT(free_bytes() == before, "memory of a killed process is free again");
  {
    Child other({"child-exits-busy"});
    EXPECT(other.end() == 0, "a process exits with work running");
  }
  EXPECT(free_bytes() == before, "memory of a process that exited is free again");
  EXPECT(chain(gpu, 3, 100) < 0.3f + kSlice, "nothing it left behind runs");
  report("{\"free\":%zu}", before);
}

CASE("memory-runs-out") {
  const Gpu gpu;
  Child other({"child-memory", "12288"});
  other.wait_ready();
  CUdeviceptr memory = 0;
  GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&memory, std::size_t{8} << 30));
  OK(cuMemAlloc_v2(&memory, std::size_t{2} << 30));
  OK(cuMemFree_v2(memory));
  other.end(SIGKILL);
  OK(cuMemAlloc_v2(&memory, std::size_t{8} << 30));
  report("{}");
}

// --- what others can read, what it costs to be idle ----------------------------------------------------------

CASE("status-file") {
  const Gpu gpu;
  gpu.memory(std::size_t{3} << 20);
  chain(gpu, 10, 1000, 66);
  const auto& shared = devices();
  EXPECT(shared.magic == cotenant::soft::kMagic && shared.layout == cotenant::soft::kLayout &&
             shared.size == sizeof shared,
         "it says what it is");
  const auto& device = shared.device[0];
  EXPECT(device.busy_ns.load() == 10'000'000, "the device was busy for ten kernels of 1 ms");
  EXPECT(device.sm_ns.load() == 66 * device.busy_ns.load(), "on 66 SMs");
  bool found = false;
  for (const auto& process : shared.processes) {
    found |= process.pid.load() == unsigned(getpid()) && process.memory[0].load() == 3u << 20;
  }
  EXPECT(found, "it lists this process with its memory");
  report("{}");
}

CASE("idle") {
  const Gpu gpu;
  chain(gpu, 3, 100);
  rest(100'000);
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  rest(1'000'000);
  getrusage(RUSAGE_SELF, &after);
  // Nothing wakes in an idle process, however slow the machine.
  EXPECT(after.ru_nvcsw - before.ru_nvcsw < 20, "an idle process sleeps");
  report("{\"wakeups\":%ld}", after.ru_nvcsw - before.ru_nvcsw);
}

// --- death ----------------------------------------------------------------------------------------------------

CASE("kill-at-any-instant") {
  const Gpu gpu;
  const std::size_t before = free_bytes();
  std::uint32_t random = 20261120;
  float worst = 0;
  for (int round = 0; round < 20; ++round) {
    Child other({"child-busy"});
    if (round % 4 != 0) other.wait_ready();  // every fourth dies while it starts
    random = random * 1664525u + 1013904223u;
    const std::uint64_t end = nanos() + random % 30'000'000u;
    while (nanos() < end) chain(gpu, 5, 100);
    other.end(SIGKILL);
    const float ms = chain(gpu, 10, 100);
    worst = ms > worst ? ms : worst;
  }
  EXPECT(free_bytes() == before, "all that the killed ones had is free again");
  report("{\"worst\":%.3f}", double(worst));
}

CASE("fork") {
  const pid_t early = fork();  // before cuInit: either side may use the device
  if (early == 0) {
    const Gpu gpu;
    chain(gpu, 3, 100);
    std::_Exit(0);
  }
  const Gpu gpu;
  chain(gpu, 3, 100);
  int status = 1;
  waitpid(early, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child made before cuInit uses the device");
  const pid_t late = fork();
  if (late == 0) {
    int count = 0;
    std::exit(api().cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);  // runs destructors too
  }
  waitpid(late, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "in a child made after cuInit the driver is not initialised");
  chain(gpu, 3, 100);
  report("{}");
}

int main(int count, char** words) { return run_case(count, words); }
