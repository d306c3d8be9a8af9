// Programs that a client starts. Some launchers set LD_PRELOAD for the process that uses the GPU to a library of their
// own (torch_memory_saver's users, among them SGLang and trainers on Ray) and so take this one out of it, while the other
// variables of a client stay. Then this library is put back, in front. An LD_PRELOAD that was removed stays removed.
// These functions run in children of vfork: they take no lock, and no memory but the stack's.
#include <spawn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "generated/protocol.h"
#include "interposer/lookup/libc.h"

namespace cotenant {
namespace {

constexpr char kName[] = "LD_PRELOAD=";
constexpr char kNccl[] = "/libcotenant-nccl.so";
constexpr std::size_t kStack = 65536;  // of what is changed

const char* value_in(char* const* variables, const char* name) noexcept {
  const std::size_t length = std::strlen(name);
  for (; variables && *variables; ++variables)
    if (std::strncmp(*variables, name, length) == 0) return *variables + length;
  return nullptr;
}

bool is_set(const char* value) noexcept { return value && *value; }

bool is_client(char* const* variables) noexcept {
  const char* off = value_in(variables, "COTENANT_OFF=");
  return is_set(value_in(variables, kName)) && is_set(value_in(variables, "COTENANT_CLASS=")) &&
         (!is_set(off) || std::strcmp(off, "0") == 0);
}

bool lost_us(char* const* variables) noexcept { return !std::strstr(value_in(variables, kName), "/libcotenant"); }

// torchrun and mpirun start ranks. They are a gang if they are best-effort, and then NCCL's names are needed.
bool becomes_rank(char* const* variables) noexcept {
  const char* its_class = value_in(variables, "COTENANT_CLASS=");
  if (std::strcmp(its_class, "best-effort") != 0 || std::strstr(value_in(variables, kName), kNccl)) return false;
  for (const char* name : protocol::RANK_COUNTS) {
    char with_sign[64];
    std::strcpy(with_sign, name);
    std::strcat(with_sign, "=");
    const char* count = value_in(variables, with_sign);
    if (count && std::strtol(count, nullptr, 10) > 1) return true;
  }
  return false;
}

// Calls with variables in which this library is back, or NCCL's names are there.
template <class Call>
[[gnu::noinline]] int call_with_us(char* const* given, bool lost, bool rank, Call call) {
  const char* own = own_path();
  const char* preload = value_in(given, kName);
  const char* folder_end = std::strrchr(own, '/');
  const std::size_t folder = folder_end ? static_cast<std::size_t>(folder_end - own) : 0;
  const std::size_t length = sizeof kName + std::strlen(own) + folder + sizeof kNccl + std::strlen(preload) + 2;
  std::size_t count = 0;
  while (given[count]) ++count;
  if (length + (count + 1) * sizeof *given > kStack) return call(given);
  auto* text = static_cast<char*>(__builtin_alloca(length));
  auto** changed = static_cast<char**>(__builtin_alloca((count + 1) * sizeof *given));
  std::strcpy(text, kName);
  if (lost) {
    std::strcat(text, own);
    std::strcat(text, ":");
  }
  std::strcat(text, preload);
  if (rank) {
    std::strcat(text, ":");
    std::strncat(text, own, folder);
    std::strcat(text, kNccl);
  }
  for (std::size_t i = 0; i <= count; ++i)
    changed[i] = i < count && given[i] + sizeof kName - 1 == preload ? text : given[i];
  return call(changed);
}

template <class Call>
int keeping_us(char* const* variables, Call call) {
  const bool client = is_client(variables);
  const bool lost = client && lost_us(variables);
  const bool rank = client && becomes_rank(variables);
  return lost || rank ? call_with_us(variables, lost, rank, call) : call(variables);
}

template <class Function>
Function next(Function, const char* name) noexcept {
  return reinterpret_cast<Function>(next_function(name));
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int execve(const char* path, char* const* words, char* const* variables) noexcept {
  return keeping_us(variables, [&](char* const* all) { return next(&::execve, "execve")(path, words, all); });
}

EXPORT int execv(const char* path, char* const* words) noexcept { return execve(path, words, environ); }

EXPORT int execvpe(const char* file, char* const* words, char* const* variables) noexcept {
  return keeping_us(variables, [&](char* const* all) { return next(&::execvpe, "execvpe")(file, words, all); });
}

EXPORT int execvp(const char* file, char* const* words) noexcept { return execvpe(file, words, environ); }

EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                       const posix_spawnattr_t* attributes, char* const* words, char* const* variables) {
  return keeping_us(variables, [&](char* const* all) {
    return next(&::posix_spawn, "posix_spawn")(pid, path, actions, attributes, words, all);
  });
}

EXPORT int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                        const posix_spawnattr_t* attributes, char* const* words, char* const* variables) {
  return keeping_us(variables, [&](char* const* all) {
    return next(&::posix_spawnp, "posix_spawnp")(pid, file, actions, attributes, words, all);
  });
}

}  // namespace cotenant
