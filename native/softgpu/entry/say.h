#pragma once
// Sentences on stderr, each once a process: what a program asked for and the software GPU can't give.
#include <atomic>

namespace cotenant::soft {

class Once {
 public:
  bool first() { return !said_.exchange(true, std::memory_order_relaxed); }

 private:
  std::atomic<bool> said_{false};
};

// As printf, with "cotenant: " in front and an end of line behind.
__attribute__((format(printf, 2, 3))) void say(Once& once, const char* format, ...);

}  // namespace cotenant::soft
