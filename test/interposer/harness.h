// The common part of the interposer's test programs: the driver's functions as an application finds them, a program
// with two kernels, and named cases that end with a sentence when something is wrong.
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "agent.h"
#include "driver/abi.h"

namespace harness {

using namespace cotenant::cu;

// The driver through dlsym, as ctypes, JAX or CuPy find it.
struct Cuda {
#define HOOK(symbol, params, args) CUresult(*symbol) params = nullptr;
#define CALL(symbol, params, args) CUresult(*symbol) params = nullptr;
#include "driver/entries.def"
#undef HOOK
#undef CALL
  void* library = nullptr;
};

inline Cuda& cuda() {
  static Cuda driver;
  if (driver.library) return driver;
  driver.library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver.library) fail(dlerror());
#define HOOK(symbol, params, args) \
  driver.symbol = reinterpret_cast<decltype(driver.symbol)>(dlsym(driver.library, #symbol));
#define CALL(symbol, params, args) HOOK(symbol, params, args)
#include "driver/entries.def"
#undef HOOK
#undef CALL
  return driver;
}

#define OK(call) harness::expect((call) == CUDA_SUCCESS, #call " succeeds")

// `spin(ns)` takes the time it is told, `store(pointer, value, ns)` writes then. The comments are for the software GPU,
// which executes nothing; the code is for a real one, where bench/live runs these programs.
// These texts are never destroyed: to free a long one takes malloc's lock, and a program that exits in a signal's
// handler may have interrupted malloc. It would wait for itself, with the interposer or without.
inline const std::string& kPtxHead = *new std::string(".version 7.8\n.target sm_70\n.address_size 64\n");
// Lets as many ns pass as %until holds.
inline const std::string& kPtxWait = *new std::string(R"(
  mov.u64 %now, %globaltimer;
  add.u64 %until, %until, %now;
AGAIN:
  mov.u64 %now, %globaltimer;
  setp.lt.u64 %p, %now, %until;
  @%p bra AGAIN;
)");

inline const std::string& kKernels = *new std::string(kPtxHead + R"(
//! soft ns=p0
.visible .entry spin(.param .u64 ns)
{
  .reg .pred %p;
  .reg .b64 %now, %until;
  ld.param.u64 %until, [ns];
)" + kPtxWait + R"(
  ret;
}
//! soft ns=p2 effect=store(p0, p1)
.visible .entry store(.param .u64 at, .param .u32 value, .param .u64 ns)
{
  .reg .pred %p;
  .reg .b32 %block, %thread, %value;
  .reg .b64 %now, %until, %at;
  ld.param.u64 %until, [ns];
)" + kPtxWait + R"(
  mov.u32 %block, %ctaid.x;
  mov.u32 %thread, %tid.x;
  or.b32 %block, %block, %thread;
  setp.ne.u32 %p, %block, 0;
  @%p ret;
  ld.param.u64 %at, [at];
  ld.param.u32 %value, [value];
  st.relaxed.sys.u32 [%at], %value;
  ret;
}
)");

// A context on device 0, and the two kernels.
struct Program {
  CUcontext context = nullptr;
  CUfunction spin = nullptr;
  CUfunction store = nullptr;

  Program() {
    CUmodule module = nullptr;
    OK(cuda().cuInit(0));
    OK(cuda().cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuda().cuCtxSetCurrent(context));
    OK(cuda().cuModuleLoadData(&module, kKernels.c_str()));
    OK(cuda().cuModuleGetFunction(&spin, module, "spin"));
    OK(cuda().cuModuleGetFunction(&store, module, "store"));
  }

  void run_us(std::uint64_t us, CUstream stream, unsigned blocks = 132) const {
    std::uint64_t ns = us * 1000;
    void* parameters[] = {&ns};
    OK(cuda().cuLaunchKernel(spin, blocks, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
  }
  void store_us(std::uint64_t us, CUdeviceptr at, unsigned value, CUstream stream) const {
    std::uint64_t ns = us * 1000;
    void* parameters[] = {&at, &value, &ns};
    OK(cuda().cuLaunchKernel(store, 132, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
  }
};

inline CUstream make_stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
  CUstream stream = nullptr;
  OK(cuda().cuStreamCreate(&stream, flags));
  return stream;
}

inline CUevent make_event() {
  CUevent event = nullptr;
  OK(cuda().cuEventCreate(&event, 0));
  return event;
}

inline std::uint64_t now_ms() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000 + static_cast<std::uint64_t>(t.tv_nsec) / 1'000'000;
}

inline void sleep_ms(unsigned ms) { usleep(ms * 1000); }

// A call that takes longer than this never ends, however slow the machine is.
constexpr std::uint64_t kHangMs = 120'000;
// The longest pause before minimum progress that the gate accepts: with it, whatever runs earlier was let go.
constexpr std::uint32_t kMaxProgressUs = 1'000'000;

template <class Condition>
void eventually(Condition condition, const std::string& sentence) {
  const std::uint64_t until = now_ms() + kHangMs;
  while (!condition()) {
    if (now_ms() > until) fail("never happened: " + sentence);
    usleep(500);
  }
}

// Returns the output on stderr meanwhile.
template <class Do>
std::string told(Do act) {
  const int file = memfd_create("stderr", MFD_CLOEXEC);
  const int kept = dup(2);
  std::fflush(stderr);
  dup2(file, 2);
  act();
  std::fflush(stderr);
  dup2(kept, 2);
  close(kept);
  char text[1000] = "";
  const ssize_t n = pread(file, text, sizeof text - 1, 0);
  close(file);
  return {text, n > 0 ? static_cast<std::size_t>(n) : 0};
}

struct Case {
  const char* name;
  void (*run)();
};

// `prog` lists the cases; `prog NAME` runs one: exit status 0, or 1 and a sentence.
template <std::size_t N>
int run_case(const Case (&cases)[N], int count, char** arguments) {
  for (const Case& each : cases) {
    if (count < 2) std::printf("%s\n", each.name);
    else if (std::strcmp(each.name, arguments[1]) == 0) {
      each.run();
      std::fflush(nullptr);
      _exit(0);  // without the atexit handlers of a process whose agent is itself
    }
  }
  return count < 2 ? 0 : 2;
}

}  // namespace harness
