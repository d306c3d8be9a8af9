#include "interposer/movable/rdma.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace cotenant {

bool has_rdma_device() noexcept {
  DIR* descriptors = opendir("/proc/self/fd");
  if (!descriptors) return true;  // nobody knows
  bool found = false;
  for (const dirent* each = readdir(descriptors); each && !found; each = readdir(descriptors)) {
    char path[256];
    const ssize_t n = readlinkat(dirfd(descriptors), each->d_name, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    found = std::strstr(path, "/infiniband/uverbs") != nullptr;
  }
  closedir(descriptors);
  return found;
}

}  // namespace cotenant
