// Preloaded, makes the wall clock useless: every look at it finds another time, up to a year away. The
// monotonic clocks stay what they are.
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace {

constexpr long kYear = 365 * 86'400;

long step() {
  static std::atomic<unsigned> looks{0};
  return static_cast<long>(looks.fetch_add(1) * 2'654'435'761u % (2 * kYear)) - kYear;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* at) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, at);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += step();
  return static_cast<int>(result);
}

int gettimeofday(timeval* __restrict at, void* __restrict) noexcept {
  timespec t;
  const int result = clock_gettime(CLOCK_REALTIME, &t);
  at->tv_sec = t.tv_sec;
  at->tv_usec = t.tv_nsec / 1000;
  return result;
}

time_t time(time_t* into) noexcept {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (into) *into = t.tv_sec;
  return t.tv_sec;
}
}
