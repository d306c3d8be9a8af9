#include "interposer/agent/knock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "interposer/base/clock.h"
#include "interposer/process/process.h"

namespace cotenant {
namespace {

// -1: `errno` says why.
int connect_to_agent(Door door) noexcept {
  errno = ENOENT;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (environment().socket[0] == '\0') return -1;
  std::memcpy(address.sun_path, environment().socket, sizeof address.sun_path);
  address.sun_path[sizeof address.sun_path - 1] = '\0';
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (door == Door::kNow ? SOCK_NONBLOCK : 0), 0);
  if (fd < 0) return -1;
  const timeval limit{0, kKnockMs * 1000};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
  }
  return out_of_the_way(fd);
}

bool is_welcome(const protocol::Welcome& welcome) noexcept {
  return welcome.magic == protocol::MESSAGE_MAGIC && welcome.version == protocol::VERSION;
}

Heard failed(Knock& own) noexcept {
  forget(own);
  return Heard::kFailed;
}

}  // namespace

int out_of_the_way(int fd) noexcept {
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, 300);
  if (high < 0) return fd;
  close(fd);
  return high;
}

bool knock(Knock& own, const protocol::Hello& hello, Door door, const Descriptors& passed, int patience_ms) noexcept {
  own = Knock{};
  own.socket = connect_to_agent(door);
  own.under_way = own.socket >= 0;
  own.busy = !own.under_way && errno == EAGAIN;
  if (!own.under_way) return false;
  own.kind = static_cast<protocol::HelloKind>(hello.kind);
  own.until = now_ns() + static_cast<std::uint64_t>(patience_ms) * 1'000'000;
  // A Hello is short: a new connection has room for it.
  const ssize_t sent = send_with_descriptors(own.socket, &hello, sizeof hello, passed, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(sizeof hello)) return true;
  forget(own);
  return false;
}

Heard hear(Knock& own) noexcept {
  if (!own.under_way) return Heard::kFailed;
  while (own.have < sizeof own.welcome) {
    char* at = reinterpret_cast<char*>(&own.welcome) + own.have;
    Descriptors came;
    const ssize_t n = receive_with_descriptors(own.socket, at, sizeof own.welcome - own.have, came, MSG_DONTWAIT);
    if (came.count > 0) {
      close_all(own.came);
      own.came = came;
      for (std::size_t i = 0; i < came.count; ++i) own.came.fds[i] = out_of_the_way(came.fds[i]);
    }
    if (n > 0) own.have += static_cast<std::size_t>(n);
    else if (n < 0 && errno == EINTR) continue;
    else if (n < 0 && errno == EAGAIN && now_ns() < own.until) return Heard::kNothingYet;
    else {
      own.busy = n < 0 && errno == EAGAIN;
      return failed(own);
    }
  }
  return is_welcome(own.welcome) ? Heard::kWelcome : failed(own);
}

Heard hear_within(Knock& own) noexcept {
  for (;;) {
    const Heard heard = hear(own);
    if (heard != Heard::kNothingYet) return heard;
    const std::uint64_t now = now_ns();
    pollfd waiting{own.socket, POLLIN, 0};
    poll(&waiting, 1, own.until > now ? static_cast<int>((own.until - now) / 1'000'000 + 1) : 0);
  }
}

void forget(Knock& own) noexcept {
  if (own.under_way) close(own.socket);
  for (std::size_t i = 0; i < own.came.count; ++i)
    if (own.came.fds[i] >= 0) close(own.came.fds[i]);
  own.came.count = 0;
  own.under_way = false;
}

int take_descriptor(Knock& own, std::size_t number) noexcept {
  if (number >= own.came.count) return -1;
  const int taken = own.came.fds[number];
  own.came.fds[number] = -1;
  return taken;
}

int take_socket(Knock& own) noexcept {
  const int taken = own.under_way ? own.socket : -1;
  own.under_way = false;
  return taken;
}

}  // namespace cotenant
