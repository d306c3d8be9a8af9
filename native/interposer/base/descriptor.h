// Messages over a Unix socket that bring one descriptor along (SCM_RIGHTS, unix(7)).
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstring>

namespace cotenant {

// A message of some bytes, with room for one descriptor and no second.
struct DescriptorMessage {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  iovec content{};
  msghdr message{};

  DescriptorMessage(void* at, std::size_t size) noexcept : content{at, size} {
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_LEN(sizeof(int));
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;
};

// Like send(2). The descriptor stays open here; -1: none is sent.
inline ssize_t send_with_descriptor(int socket, const void* from, std::size_t size, int descriptor,
                                    int flags) noexcept {
  if (descriptor < 0) return send(socket, from, size, flags);
  DescriptorMessage out(const_cast<void*>(from), size);  // sendmsg() doesn't write to it
  cmsghdr* header = CMSG_FIRSTHDR(&out.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return sendmsg(socket, &out.message, flags);
}

// Like recv(2). The descriptor that came belongs to the caller; -1: none came.
inline ssize_t receive_with_descriptor(int socket, void* at, std::size_t size, int& descriptor, int flags) noexcept {
  DescriptorMessage in(at, size);
  descriptor = -1;
  const ssize_t n = recvmsg(socket, &in.message, flags | MSG_CMSG_CLOEXEC);
  const cmsghdr* header = n > 0 ? CMSG_FIRSTHDR(&in.message) : nullptr;
  if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof descriptor))
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return n;
}

}  // namespace cotenant
