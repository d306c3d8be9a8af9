// When the file of a recorded process is written: as it ends, however it ends, and by no child.
#include "recording.h"

using namespace harness;

namespace {

void nothing_unless_asked() {
  const std::string path = file_named("recording.json");
  const pid_t child = fork();
  if (child == 0) {
    Program program;
    program.run_us(50, nullptr);
    OK(cuda().cuCtxSynchronize());
    std::exit(0);
  }
  ended(child);
  expect(!exists(path), "no file without COTENANT_RECORD");
  expect(recorded([] { OK(cuda().cuInit(0)); }).empty() && !exists(path),
         "none of a process that asks nothing of a GPU");
  setenv("COTENANT_OFF", "1", 1);
  const std::string said = recorded([] {
    Program program;
    program.run_us(50, nullptr);
  });
  expect(said.empty(), "none while Cotenant is off");
}

void ready_when_killed(int signal) {
  const std::string path = file_named("recording.json");
  int ready[2];
  expect(pipe(ready) == 0, "a pipe");
  const pid_t child = fork();
  if (child == 0) {
    setenv("COTENANT_RECORD", path.c_str(), 1);
    Program program;
    CUstream stream = make_stream();
    for (int i = 0; i < 20; ++i) program.run_us(50, stream);
    OK(cuda().cuStreamSynchronize(stream));
    if (write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) {
      program.run_us(50, stream);
      OK(cuda().cuStreamSynchronize(stream));
    }
  }
  char c = 0;
  expect(read(ready[0], &c, 1) == 1, "the child works");
  kill(child, signal);
  const int status = ended(child);
  expect(WIFSIGNALED(status) && WTERMSIG(status) == signal, "it leaves with the signal's own status");
  const std::string said = contents(path);
  expect_said(said, "{\"name\":\"spin\",");
  expect(said.substr(said.size() - 6) == "  ]\n}\n", "the file is whole");
}

void on_sigterm() { ready_when_killed(SIGTERM); }
void on_sigint() { ready_when_killed(SIGINT); }

void handler_goes_first() {
  static std::atomic<int> handled{0};
  const std::string said = recorded([] {
    std::signal(SIGTERM, [](int) { handled = 1; });
    Program program;
    program.run_us(50, nullptr);
    OK(cuda().cuCtxSynchronize());
    std::raise(SIGTERM);
    sleep_ms(100);
    expect(handled.load() == 1, "the application's handler was called");
    program.run_us(50, nullptr);
    OK(cuda().cuCtxSynchronize());
  });
  expect(count(said, "\n    {\"kernel\":") == 2, "and the program was recorded to its end");
}

// A handler that calls exit may have interrupted anything of ours or of the driver's, with their locks held. What the
// program itself does as it exits must not need what it holds: nothing static here owns memory.
void exit_in_a_handler() {
  const std::string said = recorded([] {
    std::signal(SIGALRM, [](int) { std::exit(0); });
    Program program;
    CUstream stream = make_stream();
    program.run_us(1, stream);  // before the alarm, however late that comes on a slow machine: there is a recording
    ualarm(30'000, 0);
    for (unsigned i = 0;; ++i) {
      program.run_us(1, stream);
      if (i % 16 == 0) OK(cuda().cuStreamSynchronize(stream));
    }
  });
  expect_said(said, "{\"name\":\"spin\"");
}

void child_keeps_off() {
  const std::string path = file_named("recording.json");
  const std::string said = recorded([&] {
    Program program;
    for (int i = 0; i < 5; ++i) program.run_us(50, nullptr);
    OK(cuda().cuCtxSynchronize());
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    const int status = ended(child);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child exits");
    expect(!exists(path), "the child wrote nothing");
    const pid_t other = fork();
    if (other == 0)
      for (;;) pause();
    kill(other, SIGTERM);
    const int killed = ended(other);
    expect(WIFSIGNALED(killed) && WTERMSIG(killed) == SIGTERM, "SIGTERM does to a child what it did");
    for (int i = 0; i < 5; ++i) program.run_us(50, nullptr);
    OK(cuda().cuCtxSynchronize());
  });
  expect_said(said, "\"launches\":10");
}

// Its parent asked for the driver's functions and recorded nothing yet: the child is recorded.
void child_that_begins() {
  const std::string path = file_named("recording.json");
  const std::string said = recorded([&] {
    expect(cuda().cuLaunchKernel != nullptr, "the driver is there");
    const pid_t child = fork();
    if (child == 0) {
      Program program;
      program.run_us(50, nullptr);
      OK(cuda().cuCtxSynchronize());
      std::exit(0);
    }
    ended(child);
  });
  expect_said(said, "\"launches\":1");
}

constexpr Case kCases[] = {
    {"nothing is written unless asked for", nothing_unless_asked},
    {"the file is written on SIGTERM", on_sigterm},
    {"the file is written on SIGINT", on_sigint},
    {"an application's own signal handler goes first", handler_goes_first},
    {"a program may exit in a handler", exit_in_a_handler},
    {"a child of fork leaves its parent's file alone", child_keeps_off},
    {"a child whose parent recorded nothing is recorded", child_that_begins},
};

}  // namespace

int main(int argc, char** arguments) { return run_case(kCases, argc, arguments); }
