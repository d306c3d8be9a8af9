#pragma once
// A second process for the tests of sharing: this same program in another case, with a pipe that says "ready".
#include <signal.h>

#include "client.h"

class Child {
 public:
  explicit Child(std::vector<std::string> words) {
    int ends[2];
    if (pipe(ends) != 0) fail("no pipe");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], 3);
      words.insert(words.begin(), "/proc/self/exe");
      std::vector<char*> raw;
      for (std::string& word : words) raw.push_back(word.data());
      raw.push_back(nullptr);
      execv("/proc/self/exe", raw.data());
      _exit(127);
    }
    close(ends[1]);
    from_ = ends[0];
  }
  ~Child() {
    if (pid_ > 0) end(SIGKILL);
    close(from_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Until the child says so, or has died.
  void wait_ready() const {
    char byte = 0;
    if (read(from_, &byte, 1) != 1) fail("the other process ended before it was ready");
  }
  void send(int signal) const { kill(pid_, signal); }
  // Killed and dead, but not yet taken notice of: a zombie.
  void leave_dead() const {
    kill(pid_, SIGKILL);
    siginfo_t info{};
    waitid(P_PID, id_t(pid_), &info, WEXITED | WNOWAIT);
  }
  // Its exit status, or 128 + the signal that ended it.
  int end(int signal = 0) {
    if (signal != 0) kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  int from_ = -1;
};

inline void say_ready() {
  if (write(3, "r", 1) != 1) std::_Exit(1);
}
