// Objects that a program destroys end for us too, by whichever of the driver's names they are destroyed.
#include "../fixture.h"

using namespace harness;

namespace {

void streams() {
  High high;
  for (const auto destroy : {cuda().cuStreamDestroy, cuda().cuStreamDestroy_v2}) {
    CUstream stream = make_stream();
    high.program.run_us(100, stream);
    high.busy("after a launch");
    OK(destroy(stream));
    eventually([&] { return !high.active(); }, "its burst ends though its stream was destroyed");
  }
}

void contexts() {
  High high;
  for (const auto destroy : {cuda().cuCtxDestroy, cuda().cuCtxDestroy_v2}) {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction spin = nullptr;
    OK(cuda().cuCtxCreate_v2(&context, 0, 0));
    OK(cuda().cuModuleLoadData(&module, kKernels.c_str()));
    OK(cuda().cuModuleGetFunction(&spin, module, "spin"));
    std::uint64_t ns = 100'000;
    void* parameters[] = {&ns};
    CUstream stream = make_stream();
    OK(cuda().cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
    high.busy("after a launch");
    OK(destroy(context));
    high.idle("when the context of its work is destroyed");
  }
}

constexpr Case kCases[] = {
    {"a stream that is destroyed ends its burst, by the driver's first name for it as well", streams},
    {"a context that is destroyed ends its bursts, by the driver's first name for it as well", contexts},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
