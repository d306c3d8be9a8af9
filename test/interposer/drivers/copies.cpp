// Processes with two copies of the driver: the system's and another, which a program opens by its path.
#include <fstream>

#include "../fixture.h"

using namespace harness;

namespace {

constexpr char kQuota[] = "314572800";

// Opens a copy of the driver by a path of its own.
void* open_copy() {
  Dl_info info{};
  expect(dladdr(reinterpret_cast<void*>(dlsym(cuda().library, "cuDriverGetVersion")), &info) != 0, "there is a driver");
  char folder[] = "/tmp/cotenant-copy-XXXXXX";
  expect(mkdtemp(folder) != nullptr, "a folder");
  const std::string path = std::string(folder) + "/libcuda.so.1";
  std::ofstream(path, std::ios::binary) << std::ifstream(info.dli_fname, std::ios::binary).rdbuf();
  void* copy = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  unlink(path.c_str());
  rmdir(folder);
  expect(copy && copy != cuda().library, "another library");
  return copy;
}

// From here on the case uses what this handle gives.
void use(void* library) {
  cuda().library = library;
#define HOOK(symbol, params, args) cuda().symbol = reinterpret_cast<decltype(cuda().symbol)>(dlsym(library, #symbol));
#define CALL HOOK
#include "driver/entries.def"
#undef HOOK
#undef CALL
}

void expect_gated(Agent& agent, const Program& program) {
  agent.region().roster.registered = 1;
  CUstream stream = make_stream();
  for (int i = 0; i < 40; ++i) program.run_us(300, stream);
  OK(cuda().cuStreamSynchronize(stream));
  expect(agent.region().bestEffort[0].chunks.load() > 0, "there are borders");
  CUdeviceptr memory = 0;
  expect(cuda().cuMemAlloc_v2(&memory, 512 << 20) == CUDA_ERROR_OUT_OF_MEMORY, "the quota holds");
}

void a_copy_after_a_question_for_the_version() {
  Agent agent;
  agent.become("best-effort", kQuota);
  int version = 0;
  void* system = dlopen("libcuda.so.1", RTLD_NOW);
  const auto ask = reinterpret_cast<CUresult (*)(int*)>(dlsym(system, "cuDriverGetVersion"));
  OK(ask(&version));
  dlclose(system);
  use(open_copy());
  expect_gated(agent, Program());
  void* launch = nullptr;
  OK(cuda().cuGetProcAddress_v2("cuLaunchKernel", &launch, 12000, 0, nullptr));
  expect(launch == reinterpret_cast<void*>(cuda().cuLaunchKernel), "both ways lead to the same function");
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(cuda().cuDeviceGetCount), &info);
  expect(std::string(info.dli_fname).find("cotenant-copy") != std::string::npos, "its own functions are the copy's");
}

void a_copy_beside_the_one_in_use() {
  BestEffort client(kQuota);
  CUstream stream = make_stream();
  client.program.run_us(10, stream);
  void* copy = open_copy();
  const std::string said = told([&] { use(copy); });
  expect(said.find("is a second driver beside") != std::string::npos, "it is said at once: " + said);
  expect(said.find('\n') == said.size() - 1, "in one sentence");
  OK(cuda().cuInit(0));
  CUcontext context = nullptr;
  OK(cuda().cuDevicePrimaryCtxRetain(&context, 0));
  expect(context == client.program.context, "its calls go to the first");
  expect_gated(client.agent, client.program);
}

// A program that asks a copy for its version, and goes on with the first.
void a_copy_that_is_only_asked() {
  Agent agent;
  agent.become("best-effort", kQuota);
  static_cast<void>(cuda());
  void* copy = open_copy();
  int version = 0;
  OK(reinterpret_cast<CUresult (*)(int*)>(dlsym(copy, "cuDriverGetVersion"))(&version));
  expect(version > 0, "it answers");
  expect_gated(agent, Program());
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(cuda().cuDeviceGetCount), &info);
  expect(std::string(info.dli_fname).find("cotenant-copy") == std::string::npos, "and in use");
}

constexpr Case kCases[] = {
    {"a copy that is opened after another was asked for its version is gated", a_copy_after_a_question_for_the_version},
    {"calls of a second copy go to the one in use", a_copy_beside_the_one_in_use},
    {"a copy that is only asked for its version changes nothing", a_copy_that_is_only_asked},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
