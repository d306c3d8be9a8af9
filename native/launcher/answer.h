// The answer to a command line of `cotenant run`, as src/agent/launches/message.ts writes it.
#pragma once

#include <cstddef>

namespace cotenant {

struct Text {
  char* at{nullptr};
  std::size_t size{0};
};

struct Answer {
  // The program to become is this one of the own arguments; 0: none.
  int program{0};
  // The environment to become it with; null pointer last.
  char** environment{nullptr};
  // For stderr, before the program starts.
  const char* message{""};
  // The exit status if there is no program.
  int status{1};
};

// All of a memory file.
[[nodiscard]] Text text_of(int fd) noexcept;

// Returns false if the text is no answer for so many arguments. The answer points into the text and into `environment`.
[[nodiscard]] bool parse_answer(const Text& text, int argc, char** environment, Answer& answer) noexcept;

}  // namespace cotenant
