#include "softgpu/entry/say.h"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace cotenant::soft {

// One write: lines of several processes don't mix.
void say(Once& once, const char* format, ...) {
  if (!once.first()) return;
  char text[512] = "cotenant: ";
  constexpr int kPrefix = 10;
  va_list arguments;
  va_start(arguments, format);
  int length = std::vsnprintf(text + kPrefix, sizeof text - kPrefix - 1, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  length = std::min(length, int(sizeof text) - kPrefix - 2) + kPrefix;
  text[length] = '\n';
  const ssize_t written = write(STDERR_FILENO, text, std::size_t(length) + 1);
  (void)written;
}

}  // namespace cotenant::soft
