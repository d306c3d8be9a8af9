// A launch may not allocate, or read and write anything outside, and the helper thread leaves the driver alone.
// Functions of the C library that this program defines come before the library's own, so each call says who made it.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "../fixture.h"

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
}

namespace {

// Set for this thread while it launches. Helper threads may do what they like.
thread_local bool watched = false;
thread_local unsigned forbidden = 0;
thread_local const char* last = "";
thread_local bool said_hello = false;

bool is_in(const void* code, const char* library) {
  Dl_info info{};
  return dladdr(code, &info) != 0 && info.dli_fname && std::strstr(info.dli_fname, library);
}

void note(const char* what, const void* caller) {
  if (!watched) return;
  watched = false;  // dladdr may come by here itself
  if (is_in(caller, "libcotenant.so")) {
    ++forbidden;
    last = what;
    said_hello |= std::strcmp(what, "send") == 0;
  }
  watched = true;
}

// Whose locks the software GPU takes, by who runs: every call of the driver takes one.
enum class Whose { kNobody, kProgram, kHelper };
thread_local Whose runs = Whose::kNobody;
std::atomic<unsigned> helpers{0};
std::atomic<unsigned> calls[3];

struct Start {
  void* (*routine)(void*);
  void* argument;
};

void* as_helper(void* given) {
  const Start start = *static_cast<Start*>(given);
  delete static_cast<Start*>(given);
  runs = Whose::kHelper;
  helpers.fetch_add(1);
  return start.routine(start.argument);
}

}  // namespace

#define NOTE(what) note(what, __builtin_return_address(0))

#pragma GCC visibility push(default)
extern "C" {
void* malloc(std::size_t size) {
  NOTE("malloc");
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  NOTE("calloc");
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  NOTE("realloc");
  return __libc_realloc(memory, size);
}
ssize_t write(int fd, const void* from, std::size_t size) {
  NOTE("write");
  return syscall(SYS_write, fd, from, size);
}
ssize_t read(int fd, void* to, std::size_t size) {
  NOTE("read");
  return syscall(SYS_read, fd, to, size);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*), void* argument) {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (!is_in(__builtin_return_address(0), "libcotenant.so")) return real(thread, attributes, routine, argument);
  return real(thread, attributes, as_helper, new Start{routine, argument});
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto real = reinterpret_cast<decltype(&pthread_mutex_lock)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  if (const Whose whose = runs; whose != Whose::kNobody) {
    runs = Whose::kNobody;  // dladdr may lock itself
    if (is_in(__builtin_return_address(0), "libcuda.so.1")) calls[static_cast<int>(whose)].fetch_add(1);
    runs = whose;
  }
  return real(mutex);
}
ssize_t send(int fd, const void* from, std::size_t size, int flags) {
  NOTE("send");
  return syscall(SYS_sendto, fd, from, size, flags, nullptr, 0);
}
}
#pragma GCC visibility pop

using namespace harness;

namespace {

constexpr int kLaunches = 2000;
constexpr int kFit = 900;  // into the driver's queue: a call that waits for room takes its lock again
constexpr int kBurst = 20;
constexpr std::uint32_t kAllow = 2;

template <typename Launch>
void launches_quietly(CUstream stream, Launch launch) {
  for (int i = 0; i < kLaunches; ++i) {
    watched = true;
    launch();
    watched = false;
    if (i % kBurst == kBurst - 1) OK(cuda().cuStreamSynchronize(stream));
  }
  expect(forbidden == 0, "no launch calls " + std::string(last));
}

void the_watch_sees_the_library() {
  Agent agent;
  agent.become("high");
  watched = true;
  Program program;  // its first use of the driver says hello to the agent
  watched = false;
  expect(forbidden > 0 && said_hello, "what the library does at its start is seen");
}

void a_high_client() {
  High high;
  CUstream stream = make_stream();
  high.program.run_us(5, stream);
  OK(cuda().cuStreamSynchronize(stream));
  launches_quietly(stream, [&] { high.program.run_us(5, stream); });
  expect(high.bursts() >= kLaunches / kBurst, "these were bursts");
}

void a_best_effort_client() {
  BestEffort client;
  client.agent.region().settings.preemptUs = 0;  // a kernel that proves long is noted, once, in memory of its own
  CUstream stream = make_stream();
  client.warm(20, stream);
  const std::uint64_t before = client.slot().chunks.load();
  launches_quietly(stream, [&] { client.program.run_us(20, stream); });
  expect(client.slot().chunks.load() - before > 10, "these were chunks with borders");
}

void the_helper_thread() {
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(50, stream);
  runs = Whose::kProgram;
  client.program.run_us(50, stream);
  expect(calls[static_cast<int>(Whose::kProgram)].load() > 0, "a call of the driver is seen");
  runs = Whose::kNobody;
  calls[static_cast<int>(Whose::kHelper)].store(0);
  for (int request = 0; request < 30; ++request) {
    for (int i = 0; i < 60; ++i) client.program.run_us(50, stream);  // more than is let out below
    client.request_begins();
    usleep(3000);
    client.request_ends();
    usleep(2000);
  }
  const unsigned asked = calls[static_cast<int>(Whose::kHelper)].load();
  OK(cuda().cuStreamSynchronize(stream));
  expect(helpers.load() > 0, "there is a helper thread");
  expect(asked == 0, "it asked the driver " + std::to_string(asked) + " times");
}

// At the level of a policy where nobody waits, the GPU gets what the program gave it.
void without_a_gate() {
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(50, stream);
  const auto calls_for = [&](int launches) {
    calls[static_cast<int>(Whose::kProgram)].store(0);
    runs = Whose::kProgram;
    for (int i = 0; i < launches; ++i) client.program.run_us(50, stream);
    runs = Whose::kNobody;
    const unsigned asked = calls[static_cast<int>(Whose::kProgram)].load();
    OK(cuda().cuStreamSynchronize(stream));
    return asked;
  };
  client.agent.region().settings.whenActive = kAllow;
  client.agent.page().active.fetch_or(1u << 9);  // a training always is: no launch beside it is timed well
  const unsigned gated = calls_for(kFit);
  expect(gated > kFit, "with borders and events the driver is called " + std::to_string(gated) + " times");
  client.agent.region().settings.protect = 0;
  client.agent.region().settings.sampleEvery = 1'000'000;
  calls_for(64);  // what was timed before is read
  const unsigned asked = calls_for(kFit);
  expect(asked == kFit, std::to_string(kFit) + " launches are " + std::to_string(asked) + " calls of the driver");
}

// The driver loads it then.
void a_kernels_first_launch() {
  BestEffort client;
  client.agent.region().settings.protect = 0;
  client.agent.region().settings.sampleEvery = 1;
  CUstream stream = make_stream();
  CUdeviceptr memory = 0;
  OK(cuda().cuMemAlloc_v2(&memory, 4096));
  OK(cuda().cuMemsetD8Async(memory, 0, 4096, stream));  // the driver has been asked whose the stream is
  const auto calls_for_one = [&](unsigned blocks) {
    calls[static_cast<int>(Whose::kProgram)].store(0);
    runs = Whose::kProgram;
    client.program.run_us(20, stream, blocks);
    runs = Whose::kNobody;
    return calls[static_cast<int>(Whose::kProgram)].load();
  };
  const unsigned first = calls_for_one(1);
  expect(first == 1, "a kernel's first launch is one call of the driver, not " + std::to_string(first));
  expect(calls_for_one(1) >= 3, "its second is timed");
  OK(cuda().cuStreamSynchronize(stream));
  client.agent.region().settings.sampleEvery = 1'000'000;
  client.warm(20, stream);  // what was timed before is read
  const unsigned wider = calls_for_one(2);
  expect(wider == 1, "its first in another shape is one, not " + std::to_string(wider));
}

// A request waits for the chunk of each stream, so the chunks of many streams are small.
void many_streams() {
  BestEffort client;
  client.agent.region().settings.progressAfterUs = 1'000'000;
  CUstream first = make_stream();
  std::vector<CUstream> streams(32);
  for (CUstream& stream : streams) stream = make_stream();
  constexpr unsigned kEach = 10;
  constexpr std::uint64_t kUs = 5;  // a busy machine measures several times that, and ten are still a chunk
  const auto borders = [&](auto begin, auto end) {
    const std::uint64_t before = client.slot().chunks.load();
    for (auto stream = begin; stream != end; ++stream)
      for (unsigned i = 0; i < kEach; ++i) client.program.run_us(kUs, *stream);
    return client.slot().chunks.load() - before;
  };
  const auto few_have_whole_chunks = [&] {
    client.request_ends();
    client.warm(kUs, first);
    OK(cuda().cuCtxSynchronize());
    client.request_begins();
    static_cast<void>(borders(streams.begin(), streams.begin() + 3));
    sleep_ms(30);
    return borders(streams.begin(), streams.begin() + 3) <= 2 * 3;
  };
  eventually(few_have_whole_chunks, "a few streams have whole chunks");
  eventually([&] { return borders(streams.begin(), streams.end()) > 3 * streams.size(); }, "many have parts of chunks");
  client.request_ends();
  OK(cuda().cuCtxSynchronize());
}

constexpr Case kCases[] = {
    {"the chunks of many streams are small", many_streams},
    {"what the library asks of the system is seen", the_watch_sees_the_library},
    {"a high client's launches allocate, read and write nothing", a_high_client},
    {"a best-effort client's launches allocate, read and write nothing", a_best_effort_client},
    {"the helper thread makes no call of the driver while work goes on", the_helper_thread},
    {"where nobody is gated, the driver gets a best-effort client's launches and nothing else", without_a_gate},
    {"a kernel's first launch is not timed", a_kernels_first_launch},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
