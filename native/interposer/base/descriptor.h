// Messages over a Unix socket that bring descriptors along (SCM_RIGHTS, unix(7)).
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace cotenant {

// The most that one message brings: the common file, a slot, and all control pages.
inline constexpr std::size_t kMaxDescriptors = 18;

struct Descriptors {
  int fds[kMaxDescriptors];
  std::size_t count;
};

// A message of some bytes, with room for so many descriptors and no more.
struct DescriptorMessage {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)]{};
  iovec content{};
  msghdr message{};

  DescriptorMessage(void* at, std::size_t size, std::size_t descriptors) noexcept : content{at, size} {
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_LEN(sizeof(int) * descriptors);
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;
};

// Like send(2). The descriptors stay open here.
inline ssize_t send_with_descriptors(int socket, const void* from, std::size_t size, const Descriptors& passed,
                                     int flags) noexcept {
  if (passed.count == 0) return send(socket, from, size, flags);
  DescriptorMessage out(const_cast<void*>(from), size, passed.count);  // sendmsg() doesn't write to it
  cmsghdr* header = CMSG_FIRSTHDR(&out.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * passed.count);
  std::memcpy(CMSG_DATA(header), passed.fds, sizeof(int) * passed.count);
  return sendmsg(socket, &out.message, flags);
}

// Like recv(2). The descriptors that came belong to the caller.
inline ssize_t receive_with_descriptors(int socket, void* at, std::size_t size, Descriptors& came, int flags) noexcept {
  DescriptorMessage in(at, size, kMaxDescriptors);
  came.count = 0;
  const ssize_t n = recvmsg(socket, &in.message, flags | MSG_CMSG_CLOEXEC);
  const cmsghdr* header = n > 0 ? CMSG_FIRSTHDR(&in.message) : nullptr;
  if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return n;
  came.count = std::min((header->cmsg_len - CMSG_LEN(0)) / sizeof(int), kMaxDescriptors);
  std::memcpy(came.fds, CMSG_DATA(header), sizeof(int) * came.count);
  return n;
}

inline void close_all(Descriptors& open) noexcept {
  for (std::size_t i = 0; i < open.count; ++i) close(open.fds[i]);
  open.count = 0;
}

}  // namespace cotenant
