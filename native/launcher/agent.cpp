#include "launcher/agent.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "generated/protocol.h"
#include "interposer/base/descriptor.h"
#include "interposer/base/liveness.h"

namespace cotenant {
namespace {

using protocol::Hello;
using protocol::Welcome;

// An agent that does not answer by then lacks CPU time. Node asks it again, and says so.
constexpr int kPatienceMs = 1000;
constexpr char kSystemDirectory[] = "/run/cotenant";

// Writes words, each of which ends with a zero, into a memory file.
class Request {
 public:
  Request() noexcept : fd_(memfd_create("cotenant-launch", MFD_CLOEXEC)), whole_(fd_ >= 0) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request() {
    if (fd_ >= 0) close(fd_);
  }
  void add(const char* word) noexcept {
    const std::size_t size = std::strlen(word) + 1;
    if (used_ + size > sizeof buffer_) flush();
    if (size > sizeof buffer_) {
      put(word, size);
      return;
    }
    std::memcpy(buffer_ + used_, word, size);
    used_ += size;
  }
  // -1: it could not be written.
  [[nodiscard]] int file() noexcept {
    flush();
    return whole_ ? fd_ : -1;
  }

 private:
  void flush() noexcept {
    put(buffer_, used_);
    used_ = 0;
  }
  void put(const char* from, std::size_t size) noexcept {
    whole_ = whole_ && write(fd_, from, size) == static_cast<ssize_t>(size);
  }
  int fd_;
  bool whole_;
  std::size_t used_{0};
  char buffer_[8192];
};

// The socket of the agent in `directory`, by the rules of src/agent/directory/state.ts: a user's agent has a folder that
// only the user can enter; that of an agent for all users nobody else can write to.
bool socket_in(const char* directory, sockaddr_un& address) noexcept {
  struct stat info{};
  if (lstat(directory, &info) != 0 || !S_ISDIR(info.st_mode) || (info.st_mode & 022) != 0) return false;
  const bool own = info.st_uid == getuid();
  if (!own && info.st_uid != 0 && std::strcmp(directory, kSystemDirectory) != 0) return false;
  const char* const name = own && (info.st_mode & 077) == 0 ? "agent.sock" : "shared/agent.sock";
  address.sun_family = AF_UNIX;
  return std::snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", directory, name) <
         static_cast<int>(sizeof address.sun_path);
}

// -1: no agent listens there, or its queue is full.
int connect_in(const char* directory) noexcept {
  sockaddr_un address{};
  if (!socket_in(directory, address)) return -1;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

int connect_to_agent() noexcept {
  const char* const named = std::getenv("COTENANT_DIR");
  Path directory;
  if (named && named[0]) return realpath(named, directory) ? connect_in(directory) : -1;
  std::snprintf(directory, sizeof directory, "/tmp/cotenant-%u", getuid());
  const int own = connect_in(directory);
  return own >= 0 ? own : connect_in(kSystemDirectory);
}

bool say(int socket, int request) noexcept {
  Hello hello{};
  hello.magic = protocol::MESSAGE_MAGIC;
  hello.version = protocol::VERSION;
  hello.revision = protocol::REVISION;
  hello.kind = static_cast<std::uint32_t>(protocol::HelloKind::kLaunch);
  hello.pid = static_cast<std::uint32_t>(getpid());
  hello.startTime = start_time_of(getpid());
  hello.slot = -1;
  hello.gpuIndex = -1;
  return send_with_descriptors(socket, &hello, sizeof hello, Descriptors{{request}, 1}, MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof hello);
}

// The memory file that comes with the answer; -1: none.
int hear(int socket) noexcept {
  Welcome welcome{};
  std::size_t have = 0;
  int file = -1;
  while (have < sizeof welcome) {
    pollfd waiting{socket, POLLIN, 0};
    const int ready = poll(&waiting, 1, kPatienceMs);
    if (ready < 0 && errno == EINTR) continue;
    Descriptors came{};
    const ssize_t n = ready <= 0 ? -1
                                 : receive_with_descriptors(socket, reinterpret_cast<char*>(&welcome) + have,
                                                            sizeof welcome - have, came, MSG_DONTWAIT);
    if (came.count > 0) {
      file = came.fds[0];
      for (std::size_t i = 1; i < came.count; ++i) close(came.fds[i]);
    }
    if (n <= 0) break;
    have += static_cast<std::size_t>(n);
  }
  const bool ok = have == sizeof welcome && welcome.magic == protocol::MESSAGE_MAGIC &&
                  welcome.version == protocol::VERSION &&
                  welcome.status == static_cast<std::uint32_t>(protocol::WelcomeStatus::kOk);
  if (ok || file < 0) return file;
  close(file);
  return -1;
}

int request_file(Request& request, const Path& root, int argc, char** argv, char** environment) noexcept {
  char number[16];
  std::snprintf(number, sizeof number, "%d", argc);
  request.add(root);
  request.add(number);
  for (int i = 0; i < argc; ++i) request.add(argv[i]);
  for (char** variable = environment; *variable; ++variable) request.add(*variable);
  return request.file();
}

}  // namespace

Text ask_agent(const Path& root, int argc, char** argv, char** environment) noexcept {
  const int socket = connect_to_agent();
  if (socket < 0) return {};
  Request request;
  const int asked = request_file(request, root, argc, argv, environment);
  const int answered = asked >= 0 && say(socket, asked) ? hear(socket) : -1;
  close(socket);
  if (answered < 0) return {};
  const Text text = text_of(answered);
  close(answered);
  return text;
}

}  // namespace cotenant
