#pragma once
// The common part of the software GPU's test clients: every driver entry point as a pointer (found as an application
// finds them, nothing is linked), a tiny register of named cases, and kernels whose cost and effect are parameters.
//
// `prog CASE [ARGUMENTS]` prints one JSON line and exits 0, or says on stderr what was wrong and exits 1.
#include <dlfcn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "driver/abi.h"

using namespace cotenant::cu;

struct Api {
#define HOOK(symbol, parameters, arguments) CUresult(*symbol) parameters = nullptr;
#define CALL HOOK
#include "driver/entries.def"
#undef HOOK
#undef CALL
};

[[noreturn]] inline void fail(const char* format, ...) {
  va_list list;
  va_start(list, format);
  std::vfprintf(stderr, format, list);
  va_end(list);
  std::fputc('\n', stderr);
  std::_Exit(1);
}

inline void* library() {
  static void* handle = dlopen("libcuda.so.1", RTLD_NOW);
  if (handle == nullptr) fail("there is no libcuda.so.1: %s", dlerror());
  return handle;
}

inline const Api& api() {
  static const Api found = [] {
    Api made;
#define HOOK(symbol, parameters, arguments) \
  made.symbol = reinterpret_cast<CUresult(*) parameters>(dlsym(library(), #symbol));
#define CALL HOOK
#include "driver/entries.def"
#undef HOOK
#undef CALL
    return made;
  }();
  return found;
}

inline void expect(bool holds, const char* sentence, int line) {
  if (!holds) fail("line %d: expected that %s", line, sentence);
}
inline void succeed(CUresult result, const char* call, int line) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "an unknown code";
  api().cuGetErrorName(result, &name);
  fail("line %d: %s gave %s", line, call, name);
}
#define EXPECT(condition, sentence) expect(condition, sentence, __LINE__)
#define OK(call) succeed(api().call, #call, __LINE__)
#define GIVES(code, call) expect(api().call == (code), #call " gives " #code, __LINE__)

// --- cases ----------------------------------------------------------------------------------------------------

struct Case {
  const char* name;
  void (*run)(const std::vector<std::string>& arguments);
};
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}
struct Register {
  Register(const char* name, void (*run)(const std::vector<std::string>&)) { cases().push_back({name, run}); }
};
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define CASE(name)                                                              \
  static void JOIN(case_, __LINE__)(const std::vector<std::string>& arguments); \
  static const Register JOIN(register_, __LINE__){name, JOIN(case_, __LINE__)}; \
  static void JOIN(case_, __LINE__)([[maybe_unused]] const std::vector<std::string>& arguments)

inline int run_case(int count, char** words) {
  if (count < 2) {
    for (const Case& each : cases()) std::printf("%s\n", each.name);
    return 0;
  }
  for (const Case& each : cases()) {
    if (std::strcmp(each.name, words[1]) != 0) continue;
    each.run(std::vector<std::string>(words + 2, words + count));
    return 0;
  }
  fail("there is no case %s", words[1]);
}

template <class... A>
void report(const char* format, A... values) {
  std::printf(format, values...);
  std::printf("\n");
  std::fflush(stdout);
}

// --- time -----------------------------------------------------------------------------------------------------

inline std::uint64_t nanos() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::uint64_t(t.tv_sec) * 1000000000u + std::uint64_t(t.tv_nsec);
}
inline void rest(std::uint64_t microseconds) {
  const timespec pause{time_t(microseconds / 1000000), long(microseconds % 1000000 * 1000)};
  nanosleep(&pause, nullptr);
}

// --- a context with kernels -----------------------------------------------------------------------------------

inline const char* kPtx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 counter[4];

//! soft ns=p0 sms=p1
.visible .entry work(.param .u64 ns, .param .u32 sms)
{ ret; }
//! soft ns=p0 sms=132 effect=store(p1, p2)
.visible .entry store(.param .u64 ns, .param .u64 pointer, .param .u32 value)
{ ret; }
//! soft ns=p0 sms=1 effect=add(p1, p2)
.visible .entry add(.param .u64 ns, .param .u64 pointer, .param .u32 value)
{ ret; }
//! soft ns=1000 effect=fill(p0, p1, p2)
.visible .entry fill(.param .u64 pointer, .param .u32 count, .param .u32 value)
{ ret; }
//! soft ns=p1*3/2 effect=fma(p0, p1, p2)
.visible .entry fma(.param .u64 pointer, .param .u32 count, .param .f32 factor)
{ .reg .b32 r; { ret; } }
.visible .entry plain(.param .align 8 .b8 blob[24], .param .u8 small)
.maxntid 256, 1, 1
{ ret; }
)";

struct Gpu {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction work = nullptr, store = nullptr, add = nullptr;

  explicit Gpu(int device = 0) {
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, kPtx));
    OK(cuModuleGetFunction(&work, module, "work"));
    OK(cuModuleGetFunction(&store, module, "store"));
    OK(cuModuleGetFunction(&add, module, "add"));
  }

  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING, int priority = 0) const {
    CUstream made = nullptr;
    OK(cuStreamCreateWithPriority(&made, flags, priority));
    return made;
  }
  // A kernel of `microseconds` on `sms` SMs.
  void run(CUstream on, std::uint64_t microseconds, unsigned sms = 132) const {
    std::uint64_t ns = microseconds * 1000;
    void* parameters[] = {&ns, &sms};
    OK(cuLaunchKernel(work, 1, 1, 1, 32, 1, 1, 0, on, parameters, nullptr));
  }
  void write(CUstream on, std::uint64_t microseconds, CUdeviceptr pointer, unsigned value) const {
    std::uint64_t ns = microseconds * 1000;
    void* parameters[] = {&ns, &pointer, &value};
    OK(cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, on, parameters, nullptr));
  }
  CUdeviceptr memory(std::size_t bytes) const {
    CUdeviceptr made = 0;
    OK(cuMemAlloc_v2(&made, bytes));
    return made;
  }
};

// A word that both sides see.
struct Word {
  volatile std::uint32_t* host = nullptr;
  CUdeviceptr device = 0;
  Word() {
    void* page = nullptr;
    OK(cuMemHostAlloc(&page, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostGetDevicePointer_v2(&device, page, 0));
    host = static_cast<volatile std::uint32_t*>(page);
  }
  void set(std::uint32_t value) const { __atomic_store_n(const_cast<std::uint32_t*>(host), value, __ATOMIC_RELEASE); }
  [[nodiscard]] std::uint32_t get() const {
    return __atomic_load_n(const_cast<std::uint32_t*>(host), __ATOMIC_ACQUIRE);
  }
};

// Holds streams until it is opened, so that what is queued meanwhile begins at one instant of the device, however
// long the CPU took to queue it.
class Hold {
 public:
  void close(CUstream stream) const { OK(cuStreamWaitValue32_v2(stream, word_.device, 1, CU_STREAM_WAIT_VALUE_EQ)); }
  void open() const { word_.set(1); }

 private:
  Word word_;
};

inline bool done(CUstream stream) { return api().cuStreamQuery(stream) == CUDA_SUCCESS; }
