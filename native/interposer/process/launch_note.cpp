#include "interposer/process/launch_note.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "interposer/base/clock.h"
#include "interposer/process/process.h"

// A function of the GNU C library. A program of another one, to which this library is nothing, must load it all the
// same.
#pragma weak on_exit

namespace cotenant {
namespace {

const char* launch_note() noexcept {
  const char* path = std::getenv("COTENANT_LAUNCHED");
  return path && *path == '/' ? path : nullptr;
}

// The file's name is the process id: children have the variable too.
bool is_of_this_process(const char* path) noexcept {
  return std::strtol(std::strrchr(path, '/') + 1, nullptr, 10) == getpid();
}

// A program that fails so soon says itself what happened. One that has worked for longer, whatever its end, may have used
// the GPU unseen.
constexpr std::uint64_t kFailsWithinNs = 10'000'000'000;

std::uint64_t loaded_ns = 0;

// Only the program that was launched speaks, and only if nothing of it has used CUDA.
void tell_if_unused(int status, void*) noexcept {
  const char* path = launch_note();
  if (!path || !is_of_this_process(path) || unlink(path) != 0) return;
  if (status == 0 || now_ns() - loaded_ns > kFailsWithinNs)
    tell(
        "no CUDA context was seen in this program. If it used the GPU, it was neither protected nor held back: see "
        "`cotenant doctor`.");
}

__attribute__((constructor)) void watch_exit() noexcept {
  loaded_ns = now_ns();
  if (on_exit && launch_note()) on_exit(tell_if_unused, nullptr);
}

}  // namespace

void remove_launch_note() noexcept {
  if (const char* path = launch_note()) unlink(path);
}

}  // namespace cotenant
