// Jobs of several ranks or GPUs: a best-effort one is refused, whoever only looks at a GPU is not one.
#include "../fixture.h"

using namespace harness;

namespace {

struct Client {
  Agent agent;
  explicit Client(const char* role = "best-effort") {
    agent.become(role);
    OK(cuda().cuInit(0));
  }
};

CUcontext primary(CUdevice device) {
  CUcontext context = nullptr;
  OK(cuda().cuDevicePrimaryCtxRetain(&context, device));
  OK(cuda().cuCtxSetCurrent(context));
  return context;
}

CUfunction kernel(const char* name, const std::string& text) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  OK(cuda().cuModuleLoadData(&module, text.c_str()));
  OK(cuda().cuModuleGetFunction(&function, module, name));
  return function;
}

CUresult launch(CUfunction function) {
  std::uint64_t ns = 1'000;
  void* parameters[] = {&ns};
  return cuda().cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);
}

void expect_only(CUdevice mine, CUdevice other) {
  CUdeviceptr memory = 0;
  CUcontext own = primary(mine);
  OK(cuda().cuMemAlloc_v2(&memory, 4096));
  OK(launch(kernel("spin", kKernels)));
  OK(cuda().cuCtxSynchronize());
  const auto refused = [&](const char* what) {
    CUmemGenericAllocationHandle made = 0;
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, other};
    expect(cuda().cuMemAlloc_v2(&memory, 4096) == CUDA_ERROR_NOT_PERMITTED,
           std::string("memory is refused in ") + what);
    expect(cuda().cuMemAllocAsync(&memory, 4096, nullptr) == CUDA_ERROR_NOT_PERMITTED, "stream-ordered memory, too");
    expect(cuda().cuMemCreate(&made, 2 << 20, &properties, 0) == CUDA_ERROR_NOT_PERMITTED, "and physical memory");
    expect(launch(kernel("spin", kKernels)) == CUDA_ERROR_NOT_PERMITTED, "and a launch");
  };
  primary(other);
  refused("another GPU's primary context");
  CUcontext made = nullptr;
  OK(cuda().cuCtxCreate_v2(&made, 0, other));
  refused("a context made there");
  OK(cuda().cuCtxSetCurrent(own));
  OK(cuda().cuMemAlloc_v2(&memory, 4096));
  OK(launch(kernel("spin", kKernels)));
  OK(cuda().cuCtxSynchronize());
}

void second_gpu() {
  Client client;
  expect_only(0, 1);
  expect(client.agent.connections() == 1, "it is a client of one GPU's agent");
}

// As programs do that ask each GPU for its free memory, then take one.
void probes() {
  Client client;
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  for (CUdevice device : {0, 1}) {
    primary(device);
    OK(cuda().cuMemGetInfo_v2(&free_bytes, &total));
    OK(cuda().cuCtxSynchronize());
    OK(cuda().cuDevicePrimaryCtxRelease_v2(device));
  }
  expect_only(1, 0);
  expect(client.agent.connections() == 2, "it is a client where it works, too");
  expect(client.agent.region().bestEffort[0].launches.load() == 2, "and held back there");
}

void launched_as_a_rank() {
  for (const char* variable : {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    unsetenv(variable);
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  Client client;
  CUcontext context = nullptr;
  expect(cuda().cuDevicePrimaryCtxRetain(&context, 0) == CUDA_ERROR_NOT_PERMITTED, "a rank gets no context");
  expect(cuda().cuCtxCreate_v2(&context, 0, 0) == CUDA_ERROR_NOT_PERMITTED, "by this way neither");
  expect(client.agent.connections() == 0, "and no slot");
}

void alone_in_its_world() {
  setenv("WORLD_SIZE", "1", 1);
  setenv("PMI_SIZE", "many", 1);
  setenv("SLURM_NTASKS", "8", 1);  // of a batch script, which is one process
  Client client;
  primary(0);
  OK(launch(kernel("spin", kKernels)));
}

void high_rank() {
  setenv("WORLD_SIZE", "2", 1);
  Client client("high");
  primary(0);
  OK(launch(kernel("spin", kKernels)));
  OK(cuda().cuCtxSynchronize());
  expect(client.agent.region().high[0].bursts.load() == 1, "a high rank is protected");
  eventually([&] { return client.agent.region().high[0].caveats.load() == 1; },
             "and the agent is told that it is a rank");
}

// NCCL's kernels are only launched where a communicator has several ranks.
void communicates() {
  Client client;
  primary(0);
  const std::string text = kPtxHead + R"(
//! soft ns=p0
.visible .entry _Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE(.param .u64 ns)
{
  ret;
}
)";
  const CUfunction spin = kernel("spin", kKernels);
  const CUfunction all_reduce =
      kernel("_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE", text);
  OK(launch(spin));
  OK(launch(all_reduce));  // a kernel's first launch is left alone
  expect(launch(all_reduce) == CUDA_ERROR_NOT_PERMITTED, "the second collective is refused");
  expect(launch(spin) == CUDA_ERROR_NOT_PERMITTED, "and what comes after it");
  OK(cuda().cuCtxSynchronize());
}

constexpr Case kCases[] = {
    {"a second GPU is refused, the first goes on", second_gpu},
    {"who looks at one GPU may work on another", probes},
    {"a best-effort rank of several gets no context", launched_as_a_rank},
    {"one rank alone is no gang", alone_in_its_world},
    {"a high rank of several is protected", high_rank},
    {"a best-effort process that exchanges data by NCCL is refused", communicates},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
