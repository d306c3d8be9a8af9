#pragma once
// One line per finished work, for tests: begin and end (ns), pid, stream, kind, name. Kept in memory and written
// by the engine's thread about every 100 ms and at exit; lines of several processes do not mix.
#include <string>

#include "softgpu/device/clock.h"

namespace cotenant::soft {

class Trace {
 public:
  static constexpr Nanos kInterval = 100 * kMilli;

  void open(const std::string& path) { path_ = path; }
  [[nodiscard]] bool is_enabled() const { return !path_.empty(); }
  void line(Nanos begin, Nanos end, std::uint64_t stream, const char* kind, const char* name);
  [[nodiscard]] Nanos due_at() const { return text_.empty() ? kNever : due_; }
  void flush();

 private:
  std::string path_;
  std::string text_;
  Nanos due_ = 0;
};

}  // namespace cotenant::soft
