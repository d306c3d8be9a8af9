// How addresses are handed out: every way an application finds the driver leads to our wrapper of
// exactly the function it asked for, and nothing else changes.
#include <dirent.h>
#include <sys/wait.h>

#include <csignal>

#include "../harness.h"

using namespace harness;

namespace {

// The version of what has been in the C library from the start.
#if defined(__x86_64__)
constexpr char kFirstGlibc[] = "GLIBC_2.2.5";
#else
constexpr char kFirstGlibc[] = "GLIBC_2.17";
#endif

std::string owner(void* address) {
  Dl_info info{};
  return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "nobody";
}
bool ours(void* address) { return owner(address).find("libcotenant.so") != std::string::npos; }

int entries_in(const char* path) {
  int count = 0;
  DIR* directory = opendir(path);
  while (directory && readdir(directory)) ++count;
  closedir(directory);
  return count;
}

void every_hook_is_exported_and_answers_dlsym() {
  Agent agent;
  agent.become("high");
  void* library = cuda().library;
  int hooks = 0;
#define HOOK(symbol, params, args)                                   \
  ++hooks;                                                           \
  expect(ours(dlsym(library, #symbol)), "dlsym finds our " #symbol); \
  expect(ours(dlsym(RTLD_DEFAULT, #symbol)), "a program linked with the driver gets our " #symbol);
#define CALL(symbol, params, args) \
  if (void* found = dlsym(library, #symbol)) expect(!ours(found), #symbol " is the driver's own");
#include "driver/entries.def"
#undef HOOK
#undef CALL
  expect(hooks > 100, "there are hooks");
}

// Answers of cuGetProcAddress by name, version and stream flavour.
void versions_are_routed() {
  Agent agent;
  agent.become("high");
  const auto check = [](const char* name, int version, cuuint64_t flags, const char* symbol) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status{};
    OK(cuda().cuGetProcAddress_v2(name, &found, version, flags, &status));
    expect(found == dlsym(cuda().library, symbol), std::string(name) + " is " + symbol);
    expect(ours(found), std::string(name) + " is ours");
    void* old = nullptr;
    OK(cuda().cuGetProcAddress(name, &old, version, flags));
    expect(old == found, std::string(name) + " is the same through the older call");
  };
  check("cuLaunchKernel", 12000, 0, "cuLaunchKernel");
  check("cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, "cuLaunchKernel_ptsz");
  check("cuMemcpyHtoD", 12000, 0, "cuMemcpyHtoD_v2");
  check("cuMemcpyHtoD", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, "cuMemcpyHtoD_v2_ptds");
  check("cuMemAlloc", 12000, 0, "cuMemAlloc_v2");
  check("cuStreamBeginCapture", 12000, 0, "cuStreamBeginCapture_v2");
  check("cuCtxCreate", 10000, 0, "cuCtxCreate_v2");
  check("cuCtxCreate", 12000, 0, "cuCtxCreate_v3");
  check("cuCtxCreate", 13000, 0, "cuCtxCreate_v4");
  check("cuGetProcAddress", 11030, 0, "cuGetProcAddress");
  check("cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2");
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  static_cast<void>(cuda().cuGetProcAddress_v2("cuNoSuchThing", &found, 12000, 0, &status));
  expect(!found, "an unknown name stays unknown");
}

void other_libraries_are_found_as_ever() {
  Agent agent;
  agent.become("high");
  static_cast<void>(cuda());
  expect(owner(dlsym(RTLD_DEFAULT, "labs")).find("libc.so") != std::string::npos, "labs is the C library's");
  expect(dlsym(RTLD_NEXT, "malloc") != nullptr, "RTLD_NEXT works through our dlsym");
  expect(dlvsym(RTLD_DEFAULT, "malloc", kFirstGlibc) != nullptr, "dlvsym works");
  expect(dlvsym(RTLD_DEFAULT, "malloc", "GLIBC_9.9.9") == nullptr, "and says no when it should");
  expect(dlsym(RTLD_DEFAULT, "no_such_symbol_at_all") == nullptr, "an unknown symbol stays unknown");
  expect(dlerror() != nullptr, "with the C library's error");
  expect(ours(dlsym(RTLD_DEFAULT, "cuInit")), "the driver's names are ours");
}

void the_kill_switch() {
  setenv("COTENANT_OFF", "1", 1);
  setenv("COTENANT_CLASS", "best-effort", 1);
  setenv("COTENANT_SOCKET", "/tmp/none", 1);
  expect(!ours(dlsym(cuda().library, "cuLaunchKernel")), "switched off, dlsym gives the driver's own function");
  Program program;
  CUstream stream = make_stream();
  const std::uint64_t before = now_ms();
  for (int i = 0; i < 100; ++i) program.run_us(10, stream);
  OK(cuda().cuStreamSynchronize(stream));
  expect(now_ms() - before < 2'000, "and nothing is held");
}

void a_process_without_cuda_is_left_alone() {
  setenv("COTENANT_CLASS", "high", 1);
  setenv("COTENANT_SOCKET", "/tmp/none", 1);
  const int files = entries_in("/proc/self/fd");
  expect(dlsym(RTLD_DEFAULT, "getpid") != nullptr, "dlsym works");
  expect(entries_in("/proc/self/task") == 3, "no thread was started");  // ".", ".." and this one
  expect(entries_in("/proc/self/fd") == files, "no file was opened");
}

// A child of fork is not the client: it must not keep the parent's connection, nor touch its slot.
void fork_lets_go() {
  Agent agent;
  agent.become("high");
  Program program;
  CUstream stream = make_stream();
  program.run_us(100, stream);
  OK(cuda().cuStreamSynchronize(stream));
  const std::uint64_t bursts = agent.region().high[0].bursts.load();
  const pid_t child = fork();
  if (child == 0) _exit(entries_in("/proc/self/task") == 3 ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child runs without a helper thread");
  program.run_us(100, stream);
  OK(cuda().cuStreamSynchronize(stream));
  expect(agent.region().high[0].bursts.load() == bursts + 1, "the parent goes on as before");
}

// A data loader's worker, say: it has no helper thread that could carry out a noted signal.
void forked_child_dies_of_a_signal() {
  Agent agent;
  agent.become("high");
  Program program;
  const pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  sleep_ms(50);
  kill(child, SIGTERM);
  int status = 0;
  eventually([&] { return waitpid(child, &status, WNOHANG) == child; }, "SIGTERM ends a forked child");
  expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "with the signal's own status");
}

void fork_before_cuda_attaches_by_itself() {
  Agent agent;
  agent.become("high");
  const pid_t child = fork();
  if (child == 0) {
    Program program;
    CUstream stream = make_stream();
    program.run_us(100, stream);
    OK(cuda().cuStreamSynchronize(stream));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child uses the GPU");
  expect(agent.connections() == 1, "and attached once");
  expect(agent.region().high[0].bursts.load() == 1, "as a client of its own");
}

void two_gpus_two_slots() {
  Agent agent;
  agent.become("high");
  Program program;
  CUcontext other = nullptr;
  OK(cuda().cuDevicePrimaryCtxRetain(&other, 1));
  expect(agent.connections() == 2, "a high client on two GPUs attaches to both");
  eventually([&] { return agent.region().high[0].caveats.load() == 2; }, "and the agent is told that it uses two");
}

void a_high_client_under_a_tool() {
  setenv("NV_NSIGHT_INJECTION_PORT_BASE", "49152", 1);
  Agent agent;
  agent.become("high");
  Program program;
  CUstream stream = make_stream();
  program.run_us(100, stream);
  OK(cuda().cuStreamSynchronize(stream));
  expect(agent.region().high[0].bursts.load() == 1, "it is protected");
}

void a_best_effort_client_under_a_tool() {
  setenv("CUDBG_APICLIENT_PID", "1", 1);
  Agent agent;
  agent.become("best-effort");
  const std::string said = told([] { Program program; });
  expect(said.find("CUDBG_APICLIENT_PID is set") != std::string::npos, "the tool's variable is named: " + said);
  expect(said.find('\n') == said.size() - 1, "in one sentence");
  expect(!ours(dlsym(cuda().library, "cuLaunchKernel")), "it gets the driver's own functions");
  expect(agent.connections() == 0, "and no slot");
}

void libraries_past_us() {
  Agent agent;
  agent.become("best-effort");
  const std::string first =
      told([] { expect(dlopen("libcuda.so.1", RTLD_NOW | RTLD_DEEPBIND) != nullptr, "it is loaded"); });
  expect(first.find("libcuda.so.1 is loaded with RTLD_DEEPBIND") != std::string::npos, "it is said: " + first);
  const std::string again =
      told([] { expect(dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW) != nullptr, "it is loaded"); });
  expect(again.empty(), "once: " + again);
  Program program;
  eventually([&] { return agent.region().bestEffort[0].caveats.load() == 4; }, "the agent is told");
}

void libraries_in_other_namespaces() {
  Agent agent;
  agent.become("high");
  expect(told([] { expect(dlopen("libcuda.so.1", RTLD_NOW) != nullptr, "it is loaded"); }).empty(), "nothing is said");
  const std::string said = told([] { expect(dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW) != nullptr, "it is loaded"); });
  expect(said.find("libc.so.6 is loaded into another namespace") != std::string::npos, "it is said: " + said);
  expect(dlopen("libnothing.so.0", RTLD_NOW) == nullptr && dlerror() != nullptr, "a failure is the C library's");
}

// A function of the driver that we do not replace and that may submit work: its calls are counted.
void unhooked_calls_are_counted() {
  Agent agent;
  agent.become("best-effort");
  Program program;
  void* by_version = nullptr;
  OK(cuda().cuGetProcAddress("cuMemFree", &by_version, 2000, 0));
  void* by_name = dlsym(cuda().library, "cuMemFree");
  expect(by_name && by_name == by_version, "both ways lead to the same function");
  expect(ours(by_name), "to one of ours, which counts");
  auto& unhooked = agent.region().bestEffort[0].unhooked;
  sleep_ms(300);
  expect(unhooked.load() == 0, "finding it is not calling it");
  const auto call = reinterpret_cast<CUresult (*)(unsigned)>(by_name);
  for (int i = 0; i < 3; ++i) expect(call(4096) == CUDA_ERROR_INVALID_VALUE, "the driver's own answer");
  eventually([&] { return unhooked.load() == 3; }, "three calls are counted");
  void* harmless = dlsym(cuda().library, "cuDeviceGetCount");
  expect(!ours(harmless), "what is known to be harmless stays the driver's own");
}

constexpr Case kCases[] = {
    {"every hook is exported and answers dlsym", every_hook_is_exported_and_answers_dlsym},
    {"versions and stream flavours are routed to the right wrapper", versions_are_routed},
    {"other libraries are found as ever", other_libraries_are_found_as_ever},
    {"the kill switch gives the driver's own functions", the_kill_switch},
    {"a process that never calls CUDA is left alone", a_process_without_cuda_is_left_alone},
    {"a forked child lets go of its parent's slot", fork_lets_go},
    {"a forked child dies of SIGTERM at once", forked_child_dies_of_a_signal},
    {"a child forked before CUDA attaches by itself", fork_before_cuda_attaches_by_itself},
    {"a high client on two GPUs has a slot on each", two_gpus_two_slots},
    {"a high client is protected though a tool looks at it", a_high_client_under_a_tool},
    {"a best-effort client under a tool steps aside and says so", a_best_effort_client_under_a_tool},
    {"a library that is loaded past us is named once", libraries_past_us},
    {"a library in another namespace is named", libraries_in_other_namespaces},
    {"calls of a function that is not replaced are counted", unhooked_calls_are_counted},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
