#include "interposer/process/process.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>

#include "interposer/base/spin.h"
#include "interposer/base/thread.h"
#include "interposer/calls/forks.h"

namespace cotenant {
namespace {

Environment env;
Spin deciding;
std::atomic<std::uint32_t> noted{0};  // caveats

}  // namespace

std::atomic<Role> decided_role{Role::kUndecided};
std::atomic<bool> memory_moves{false};

Role decide_role() noexcept {
  Locked lock(deciding);
  Role known = decided_role.load(std::memory_order_relaxed);
  if (known != Role::kUndecided) return known;
  env = read_environment();
  known = env.client_class == protocol::Class::kHigh         ? Role::kHigh
          : env.client_class == protocol::Class::kBestEffort ? Role::kBestEffort
          : env.record[0] != '\0'                            ? Role::kRecord
                                                             : Role::kNone;
  // Other ranks use a rank's memory directly, and a parked rank would come to no collective.
  const bool is_rank = known == Role::kBestEffort && env.ranks[0] != '\0';
  memory_moves.store(env.movable && !is_rank && (known == Role::kHigh || known == Role::kBestEffort),
                     std::memory_order_relaxed);
  if (known != Role::kNone) expect_forks(known);
  decided_role.store(known, std::memory_order_release);
  return known;
}

const Environment& environment() noexcept { return env; }

void note_caveat(protocol::Caveat caveat) noexcept {
  noted.fetch_or(static_cast<std::uint32_t>(caveat), std::memory_order_relaxed);
}

std::uint32_t caveats() noexcept { return noted.load(std::memory_order_relaxed); }

void say_aside() noexcept {
  static std::atomic<bool> said{false};
  if (env.tool && env.client_class == protocol::Class::kNone && !said.exchange(true))
    tell("%s is set: a tool looks at this program, so it runs as if Cotenant were not there, and is not held back.",
         env.tool);
}

void tell(const char* format, ...) noexcept {
  char line[512];
  int used = std::snprintf(line, sizeof line, "cotenant: ");
  va_list arguments;
  va_start(arguments, format);
  const int more = std::vsnprintf(line + used, sizeof line - static_cast<std::size_t>(used) - 1, format, arguments);
  va_end(arguments);
  if (more > 0) used += more;
  if (used > static_cast<int>(sizeof line) - 2) used = static_cast<int>(sizeof line) - 2;
  line[used++] = '\n';
  const NotCancelled whole;
  if (write(STDERR_FILENO, line, static_cast<std::size_t>(used)) < 0) return;  // nobody to tell
}

}  // namespace cotenant
