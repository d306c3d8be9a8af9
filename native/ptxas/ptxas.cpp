// A stand-in for ptxas in best-effort programs that compile kernels as they run (Triton, by TRITON_PTXAS_PATH). Beside
// each kernel the machine code gets the variants of it that can stop inside. The agent makes them; the real ptxas
// assembles them with the caller's options and the variants that it refuses left out. If anything else fails, the real
// ptxas runs with the original arguments within half a second. It is the one in COTENANT_PTXAS, else the one beside the
// libtriton.so that the caller has loaded, else the one in PATH. Triton has a second assembler, ptxas-blackwell
// (TRITON_PTXAS_BLACKWELL_PATH). The same program under the name cotenant-ptxas-blackwell stands in for that one, and
// COTENANT_PTXAS_BLACKWELL names it.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "generated/protocol.h"
#include "interposer/base/descriptor.h"
#include "interposer/base/liveness.h"
#include "libc/file_status.h"
#include "ptxas/refusal.h"
#include "ptxas/variant_text.h"

extern char** environ;

namespace cotenant {
namespace {

using protocol::Hello;
using protocol::VariantRequest;
using protocol::Welcome;

constexpr int kAgentMs = 500;
constexpr std::size_t kLongest = 8u << 20;  // the agent reads no larger ones
// Programs cache machine code under what ptxas prints as its version. This number rises when the agent's variants
// change.
constexpr int kVariantsVersion = 4;

struct Text {
  char* at{nullptr};
  std::size_t size{0};
};

constexpr char kOwnName[] = "cotenant-ptxas";

const char* name_of(const char* path) noexcept {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Whether the path is an executable other than a stand-in.
bool is_program(const char* path) noexcept {
  return path[0] && std::strncmp(name_of(path), kOwnName, sizeof kOwnName - 1) != 0 && access(path, X_OK) == 0;
}

// One of Triton's assemblers: the part of its name behind "ptxas", and the variable that names the real one.
struct Assembler {
  const char* suffix;
  const char* variable;
};
constexpr Assembler kAssemblers[] = {{"", "COTENANT_PTXAS"}, {"-blackwell", "COTENANT_PTXAS_BLACKWELL"}};

// The one for which this program was started, by the name that the caller used.
const Assembler& replaced(const char* own_path) noexcept {
  const char* name = name_of(own_path);
  for (const Assembler& one : kAssemblers)
    if (std::strncmp(name, kOwnName, sizeof kOwnName - 1) == 0 &&
        std::strcmp(name + sizeof kOwnName - 1, one.suffix) == 0)
      return one;
  return kAssemblers[0];
}

// Triton's ptxas for a loaded triton/_C/libtriton.so is triton/backends/nvidia/bin/ptxas. A release may have only one
// of the assemblers.
bool find_in_folder(const char* triton, const Assembler& wanted, char (&path)[PATH_MAX]) noexcept {
  const auto is_there = [&](const char* suffix) {
    return std::snprintf(path, sizeof path, "%s/backends/nvidia/bin/ptxas%s", triton, suffix) < PATH_MAX &&
           is_program(path);
  };
  if (is_there(wanted.suffix)) return true;
  for (const Assembler& one : kAssemblers)
    if (is_there(one.suffix)) return true;
  return false;
}

// In the Triton that the caller has loaded.
bool find_in_triton(const Assembler& wanted, char (&path)[PATH_MAX]) noexcept {
  char maps[64];
  std::snprintf(maps, sizeof maps, "/proc/%d/maps", static_cast<int>(getppid()));
  std::FILE* file = std::fopen(maps, "re");
  if (!file) return false;
  char line[PATH_MAX + 128];
  bool found = false;
  while (!found && std::fgets(line, sizeof line, file)) {
    char* from = std::strchr(line, '/');
    char* end = from ? std::strstr(from, "/_C/libtriton.so") : nullptr;
    if (!end) continue;
    *end = '\0';
    found = find_in_folder(from, wanted, path);
  }
  std::fclose(file);
  return found;
}

bool in_path(char (&path)[PATH_MAX]) noexcept {
  const char* folders = std::getenv("PATH");
  for (const char* at = folders ? folders : ""; *at;) {
    const std::size_t length = std::strcspn(at, ":");
    if (std::snprintf(path, sizeof path, "%.*s/ptxas", static_cast<int>(length), at) < PATH_MAX && is_program(path))
      return true;
    at += length + (at[length] == ':');
  }
  std::strcpy(path, "/usr/local/cuda/bin/ptxas");
  return is_program(path);
}

bool find_real(const Assembler& wanted, char (&path)[PATH_MAX]) noexcept {
  const char* given = std::getenv(wanted.variable);
  if (given && std::snprintf(path, sizeof path, "%s", given) < PATH_MAX && is_program(path)) return true;
  return find_in_triton(wanted, path) || in_path(path);
}

// Runs a program and returns its exit status; -1: it could not be started, or was killed. Its stderr is copied to
// `said` unless that is -1.
int run(const char* program, char** words, int said) noexcept {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return -1;
  pid_t child = 0;
  const bool started = (said < 0 || posix_spawn_file_actions_adddup2(&actions, said, 2) == 0) &&
                       posix_spawn(&child, program, &actions, nullptr, words, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  if (!started) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Text read_all(int fd) noexcept {
  struct stat info{};
  Text text;
  if (fd < 0 || !file_status(fd, &info) || info.st_size <= 0 || static_cast<std::size_t>(info.st_size) > 4 * kLongest)
    return text;
  const auto size = static_cast<std::size_t>(info.st_size);
  text.at = static_cast<char*>(std::malloc(size + 1));
  while (text.at && text.size < size) {
    const ssize_t n = pread(fd, text.at + text.size, size - text.size, static_cast<off_t>(text.size));
    if (n <= 0) return {};
    text.size += static_cast<std::size_t>(n);
  }
  if (text.at) text.at[size] = '\0';
  return text;
}

bool write_all(int fd, const void* from, std::size_t size) noexcept {
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = write(fd, static_cast<const char*>(from) + done, size - done);
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

long now_ms() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool receive(int fd, Welcome& welcome, Descriptors& files) noexcept {
  const long until = now_ms() + kAgentMs;
  for (std::size_t have = 0; have < sizeof welcome;) {
    pollfd waiting{fd, POLLIN, 0};
    const long left = until - now_ms();
    if (left <= 0 || poll(&waiting, 1, static_cast<int>(left)) <= 0) return false;
    Descriptors came;
    const ssize_t n =
        receive_with_descriptors(fd, reinterpret_cast<char*>(&welcome) + have, sizeof welcome - have, came, 0);
    if (came.count > 0) {
      close_all(files);
      files = came;
    }
    if (n <= 0) return false;
    have += static_cast<std::size_t>(n);
  }
  return welcome.magic == protocol::MESSAGE_MAGIC && welcome.version == protocol::VERSION;
}

// Receives the memory file with the agent's answer. Empty: there is none, or it is late.
Text answer_to(int request) noexcept {
  const char* socket_path = std::getenv("COTENANT_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!socket_path || std::strlen(socket_path) >= sizeof address.sun_path) return {};
  std::strcpy(address.sun_path, socket_path);
  // If the agent hangs and its queue is full, this must not block.
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  Hello hello{};
  hello.magic = protocol::MESSAGE_MAGIC;
  hello.version = protocol::VERSION;
  hello.kind = static_cast<std::uint32_t>(protocol::HelloKind::kVariant);
  hello.class_ = static_cast<std::uint32_t>(protocol::Class::kBestEffort);
  hello.pid = static_cast<std::uint32_t>(getpid());
  hello.startTime = start_time_of(getpid());
  hello.slot = -1;
  Welcome welcome{};
  Descriptors made{};
  Text text;
  if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      send_with_descriptors(fd, &hello, sizeof hello, {{request}, 1}, MSG_NOSIGNAL) ==
          static_cast<ssize_t>(sizeof hello) &&
      receive(fd, welcome, made) && welcome.status == static_cast<std::uint32_t>(protocol::WelcomeStatus::kOk) &&
      made.count > 0)
    text = read_all(made.fds[0]);
  close_all(made);
  if (fd >= 0) close(fd);
  return text;
}

// The module with a variant beside each kernel that can have one.
Text with_variants(const char* file) noexcept {
  const int fd = open(file, O_RDONLY | O_CLOEXEC);
  const Text ptx = read_all(fd);
  if (fd >= 0) close(fd);
  if (!ptx.at || ptx.size > kLongest) return {};
  // An empty name means all kernels of the module.
  const VariantRequest request{0, 0, ptx.size};
  const int memory = memfd_create("cotenant-ptxas", MFD_CLOEXEC);
  const bool written =
      memory >= 0 && write_all(memory, &request, sizeof request) && write_all(memory, ptx.at, ptx.size);
  const Text made = written ? answer_to(memory) : Text{};
  if (memory >= 0) close(memory);
  return made;
}

bool is_ptx(const char* word) noexcept {
  const std::size_t length = std::strlen(word);
  return word[0] != '-' && length > 4 && std::strcmp(word + length - 4, ".ptx") == 0;
}

// Replaces one of the caller's arguments while it exists.
struct ReplacedArgument {
  char** word;
  char* own;
  ReplacedArgument(char** at, char* other) noexcept : word(at), own(*at) { *word = other; }
  ~ReplacedArgument() { *word = own; }
  ReplacedArgument(const ReplacedArgument&) = delete;
  ReplacedArgument& operator=(const ReplacedArgument&) = delete;
};

// The outcome of one run.
enum class Outcome { kDone, kRefused, kFailed };

// Writes the text to a file and runs the real ptxas on it. If ptxas refuses it, `said` gets its messages.
Outcome assemble(const char* real, char** words, int which, const char* text, Text& said) noexcept {
  const char* folder = std::getenv("TMPDIR");
  char path[PATH_MAX];
  if (std::snprintf(path, sizeof path, "%s/cotenant-XXXXXX.ptx", folder && *folder ? folder : "/tmp") >= PATH_MAX)
    return Outcome::kFailed;
  const int fd = mkstemps(path, 4);
  const int errors = memfd_create("cotenant-ptxas", MFD_CLOEXEC);
  int status = -1;
  if (fd >= 0 && errors >= 0 && write_all(fd, text, std::strlen(text))) {
    const ReplacedArgument input(&words[which], path);
    status = run(real, words, errors);
  }
  said = read_all(errors);
  if (status == 0 && said.at) static_cast<void>(write_all(2, said.at, said.size));
  if (fd >= 0) close(fd), unlink(path);
  if (errors >= 0) close(errors);
  return status == 0 ? Outcome::kDone : status > 0 ? Outcome::kRefused : Outcome::kFailed;
}

bool has_variants(char* text) noexcept {
  variant_text::Reader reader(text);
  for (variant_text::Function one{}; reader.next(one);)
    if (one.entry && variant_text::suffix_of(one)) return true;
  return false;
}

// Each run may report errors that earlier errors have hidden.
constexpr int kRuns = 4;

// True: the machine code with the variants was written to the caller's output file.
bool assembled_with_variants(const char* real, int count, char** words) noexcept {
  int which = 0;
  for (int i = 1; i < count; ++i) {
    if (!is_ptx(words[i])) continue;
    if (which) return false;  // several files are not supported
    which = i;
  }
  const Text made = which ? with_variants(words[which]) : Text{};
  if (!made.at) return false;
  Text said;
  for (int i = 0; i < kRuns && has_variants(made.at); ++i) {
    const Outcome outcome = assemble(real, words, which, made.at, said);
    if (outcome != Outcome::kRefused) return outcome == Outcome::kDone;
    const Blame blame = said.at ? take_out_refused_variants(made.at, said.at) : Blame::kUnknown;
    if (blame == Blame::kProgram) return false;
    if (blame == Blame::kUnknown) break;
  }
  // The messages name no variant: tries each kind without the other.
  char* const other = strdup(made.at);
  for (const auto& [text, suffix] :
       {std::pair{made.at, variant_text::kSlice}, std::pair{other, variant_text::kPreempt}})
    if (text && variant_text::take_out_all(text, suffix) > 0 && has_variants(text) &&
        assemble(real, words, which, text, said) == Outcome::kDone)
      return true;
  return false;
}

}  // namespace
}  // namespace cotenant

int main(int count, char** words) {
  using namespace cotenant;
  char real[PATH_MAX];
  const Assembler& wanted = replaced(words[0]);
  if (!find_real(wanted, real)) {
    std::fprintf(stderr, "cotenant-ptxas: There is no ptxas beside Triton or in PATH. Set %s to one.\n",
                 wanted.variable);
    return 127;
  }
  words[0] = real;
  if (count == 2 && std::strcmp(words[1], "--version") == 0) {
    const int status = run(real, words, -1);
    if (status == 0) std::printf("Cotenant variants %u.%d\n", protocol::VERSION, kVariantsVersion);
    return status;
  }
  if (assembled_with_variants(real, count, words)) return 0;
  execv(real, words);
  char why[128] = "";
  std::fprintf(stderr, "cotenant-ptxas: %s cannot be run: %s\n", real, strerror_r(errno, why, sizeof why));
  return 127;
}
