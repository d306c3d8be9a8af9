// Takes places of an agent without a CUDA context each: processes that say hello, then do nothing until stdin is closed.
//   places SOCKET CLASS COUNT GPU      GPU: 32 hexadecimal digits. A line "taken" a process, or the agent's refusal.
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "generated/protocol.h"
#include "interposer/base/liveness.h"

using namespace cotenant;

int main(int count, char** arguments) {
  if (count != 5 || std::strlen(arguments[4]) != 32) return 2;
  for (int i = 0; i < std::atoi(arguments[3]); ++i) {
    if (fork() != 0) continue;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s", arguments[1]);
    const int door = socket(AF_UNIX, SOCK_STREAM, 0);
    protocol::Hello hello{};
    hello.magic = protocol::MESSAGE_MAGIC;
    hello.version = protocol::VERSION;
    hello.kind = static_cast<std::uint32_t>(protocol::HelloKind::kAttach);
    hello.class_ = static_cast<std::uint32_t>(std::strcmp(arguments[2], "high") == 0 ? protocol::Class::kHigh
                                                                                     : protocol::Class::kBestEffort);
    hello.pid = static_cast<std::uint32_t>(getpid());
    hello.startTime = start_time_of(getpid());
    hello.slot = -1;
    for (unsigned byte = 0; byte < 16; ++byte) {
      const char digits[] = {arguments[4][2 * byte], arguments[4][2 * byte + 1], '\0'};
      hello.gpuUuid[byte] = static_cast<unsigned char>(std::strtoul(digits, nullptr, 16));
    }
    protocol::Welcome welcome{};
    const bool answered = connect(door, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                          send(door, &hello, sizeof hello, 0) == static_cast<ssize_t>(sizeof hello) &&
                          recv(door, &welcome, sizeof welcome, MSG_WAITALL) == static_cast<ssize_t>(sizeof welcome);
    const bool taken = answered && welcome.status == static_cast<std::uint32_t>(protocol::WelcomeStatus::kOk);
    std::printf("%s\n", taken ? "taken" : answered ? welcome.reason : "no answer");
    std::fflush(stdout);
    char end = 0;
    while (read(STDIN_FILENO, &end, 1) > 0) {
    }
    _exit(0);
  }
  while (wait(nullptr) > 0) {
  }
  return 0;
}
