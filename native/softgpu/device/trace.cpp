#include "softgpu/device/trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace cotenant::soft {

void Trace::line(Nanos begin, Nanos end, std::uint64_t stream, const char* kind, const char* name) {
  if (!is_enabled()) return;
  if (text_.empty()) due_ = now() + kInterval;
  char head[128];
  std::snprintf(head, sizeof head, "%llu %llu %d %llu %s ", static_cast<unsigned long long>(begin),
                static_cast<unsigned long long>(end), int(getpid()), static_cast<unsigned long long>(stream), kind);
  text_ += head;
  text_ += *name == 0 ? "-" : name;
  text_ += '\n';
}

void Trace::flush() {
  if (text_.empty()) return;
  const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0) {
    // One call of write(), which is not split because of O_APPEND.
    if (::write(file, text_.data(), text_.size()) < 0) path_.clear();
    ::close(file);
  }
  text_.clear();
}

}  // namespace cotenant::soft
