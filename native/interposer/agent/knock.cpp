#include "interposer/agent/knock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

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

void drop_what_came(Knock& own) noexcept {
  for (std::size_t i = 0; i < own.came_count; ++i) own.came[i].close();
  own.came_count = 0;
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
  const int socket = connect_to_agent(door);
  own.busy = socket < 0 && errno == EAGAIN;
  own.socket = OwnDescriptor(socket);
  own.under_way = own.socket.is_set();
  if (!own.under_way) return false;
  own.kind = static_cast<protocol::HelloKind>(hello.kind);
  own.until = now_ns() + static_cast<std::uint64_t>(patience_ms) * 1'000'000;
  // A Hello is short: a new connection has room for it.
  const ssize_t sent =
      send_with_descriptors(own.socket.number(), &hello, sizeof hello, passed, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(sizeof hello)) return true;
  forget(own);
  return false;
}

Heard hear(Knock& own) noexcept {
  if (!own.under_way) return Heard::kFailed;
  while (own.have < sizeof own.welcome) {
    const int socket = own.socket.number();
    if (socket < 0) return failed(own);
    char* at = reinterpret_cast<char*>(&own.welcome) + own.have;
    Descriptors came;
    const ssize_t n = receive_with_descriptors(socket, at, sizeof own.welcome - own.have, came, MSG_DONTWAIT);
    if (came.count > 0) {
      drop_what_came(own);
      own.came_count = came.count;
      for (std::size_t i = 0; i < came.count; ++i) own.came[i] = OwnDescriptor(out_of_the_way(came.fds[i]));
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
    pollfd waiting{own.socket.number(), POLLIN, 0};
    poll(&waiting, 1, own.until > now ? static_cast<int>((own.until - now) / 1'000'000 + 1) : 0);
  }
}

void forget(Knock& own) noexcept {
  if (own.under_way) own.socket.close();
  drop_what_came(own);
  own.under_way = false;
}

OwnDescriptor take_descriptor(Knock& own, std::size_t place) noexcept {
  return place < own.came_count ? std::exchange(own.came[place], {}) : OwnDescriptor();
}

OwnDescriptor take_socket(Knock& own) noexcept {
  return std::exchange(own.under_way, false) ? own.socket : OwnDescriptor();
}

}  // namespace cotenant
