// A client that is there within milliseconds, so that thousands can be killed: it works, and works on, until then.
//   victim work     short kernels, two at a time
//   victim endless  a kernel of an hour
//   victim memory   memory until the driver refuses more, then short kernels
//   victim daemon   short kernels, after it has closed all descriptors above 2; ends with a sentence when somebody uses the
//                   sockets that have the numbers then
#include <sys/socket.h>

#include "../../interposer/harness.h"

using namespace harness;

namespace {

// The ends that the program keeps; each other end has a number that was not the program's.
std::vector<int> become_a_daemon() {
  constexpr int kPairs = 250;
  for (int number = 3; number < 1024; ++number) close(number);
  std::vector<int> kept;
  for (int i = 0; i < kPairs; ++i) {
    int ends[2];
    expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a socket pair");
    kept.insert(kept.end(), {ends[0], ends[1]});
  }
  std::fprintf(stderr, "victim: has closed all\n");
  return kept;
}

void expect_unused(const std::vector<int>& sockets) {
  char byte = 0;
  for (const int socket : sockets)
    expect(recv(socket, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN,
           "nobody writes to descriptor " + std::to_string(socket) + " or closes its other end");
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count == 2 ? arguments[1] : "";
  if (what != "work" && what != "endless" && what != "memory" && what != "daemon") return 2;
  const Program program;
  const CUstream stream = make_stream();
  if (what == "endless") program.run_us(3'600'000'000, stream);
  constexpr std::size_t kAtATime = std::size_t{1} << 30;
  CUdeviceptr taken = 0;
  while (what == "memory" && cuda().cuMemAlloc_v2(&taken, kAtATime) == CUDA_SUCCESS) {
  }
  const auto sockets = what == "daemon" ? become_a_daemon() : std::vector<int>();
  for (unsigned i = 0;; ++i) {
    program.run_us(150, stream);
    program.run_us(150, stream);
    OK(cuda().cuStreamSynchronize(stream));
    if (i % 100 == 99) expect_unused(sockets);
  }
}
