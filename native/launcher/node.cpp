#include "launcher/node.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cotenant {
namespace {

// The signals that this process ignored when it was started, as /proc/PID/status has them. Node sets them back to their defaults.
std::uint64_t ignored_signals() noexcept {
  std::uint64_t mask = 0;
  for (int signal = 1; signal < 65; ++signal) {
    struct sigaction action{};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      mask |= std::uint64_t{1} << (signal - 1);
  }
  return mask;
}

void start(const Path& root, const Path& node, char** argv) noexcept {
  Path program;
  if (std::snprintf(program, sizeof program, "%s/bin/cotenant", root) >= PATH_MAX) return;
  std::vector<char*> words{const_cast<char*>(node), program};
  for (char** word = argv + (argv[0] ? 1 : 0); *word; ++word) words.push_back(*word);
  words.push_back(nullptr);
  execv(node, words.data());
}

// This process waits for the child with SIGCHLD as by default, since otherwise the kernel forgets how the child ended.
int end_of(pid_t child) noexcept {
  int how = 0;
  while (waitpid(child, &how, 0) < 0)
    if (errno != EINTR) return 1;
  if (WIFEXITED(how)) return WEXITSTATUS(how);
  // Ends as the child did, so that a shell sees Ctrl-C. Here the signal may be ignored or blocked.
  raise(WTERMSIG(how));
  return 128 + WTERMSIG(how);
}

}  // namespace

void become_node(const Path& root, const Path& node, char** argv) noexcept { start(root, node, argv); }

Text ask_node(const Path& root, const Path& node, char** argv, int& status) noexcept {
  const int created = memfd_create("cotenant-answer", MFD_CLOEXEC);
  // Out of the way of numbers that the program was started with.
  const int answer = fcntl(created, F_DUPFD_CLOEXEC, 100);
  if (created >= 0) close(created);
  const std::uint64_t ignored = ignored_signals();
  struct sigaction by_default{};
  by_default.sa_handler = SIG_DFL;
  struct sigaction before{};
  sigaction(SIGCHLD, &by_default, &before);
  const pid_t parent = getpid();
  const pid_t child = answer < 0 ? -1 : fork();
  if (child == 0) {
    // A child that waits for a GPU ends with this process.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    char text[64];
    std::snprintf(text, sizeof text, "SigIgn:\t%016llx", static_cast<unsigned long long>(ignored));
    setenv("COTENANT_IGNORED", text, 1);
    std::snprintf(text, sizeof text, "%d", answer);
    setenv("COTENANT_ANSWER", text, 1);
    fcntl(answer, F_SETFD, 0);
    start(root, node, argv);
    std::perror("cotenant: Node could not be started");
    _exit(1);
  }
  status = child < 0 ? 1 : end_of(child);
  if (child < 0) std::perror("cotenant: no process could be started");
  sigaction(SIGCHLD, &before, nullptr);
  const Text text = status == 0 ? text_of(answer) : Text{};
  if (answer >= 0) close(answer);
  return text;
}

}  // namespace cotenant
