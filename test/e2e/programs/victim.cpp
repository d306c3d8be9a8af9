// A client that is there within milliseconds, so that thousands can be killed: it works, and works on, until then.
//   victim work     short kernels, two at a time
//   victim endless  a kernel of an hour
//   victim memory   memory until the driver refuses more, then short kernels
#include "../../interposer/harness.h"

using namespace harness;

int main(int count, char** arguments) {
  const std::string what = count == 2 ? arguments[1] : "";
  if (what != "work" && what != "endless" && what != "memory") return 2;
  const Program program;
  const CUstream stream = make_stream();
  if (what == "endless") program.run_us(3'600'000'000, stream);
  constexpr std::size_t kAtATime = std::size_t{1} << 30;
  CUdeviceptr taken = 0;
  while (what == "memory" && cuda().cuMemAlloc_v2(&taken, kAtATime) == CUDA_SUCCESS) {
  }
  for (;;) {
    program.run_us(150, stream);
    program.run_us(150, stream);
    OK(cuda().cuStreamSynchronize(stream));
  }
}
