#include "launcher/answer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cotenant {
namespace {

// The words of a text, each of which ends with a zero.
class Words {
 public:
  explicit Words(const Text& text) noexcept : at_(text.at), end_(text.at + text.size) {}
  [[nodiscard]] char* next() noexcept {
    if (at_ == end_) return nullptr;
    char* const word = at_;
    at_ += std::strlen(word) + 1;
    return word;
  }

 private:
  char* at_;
  char* end_;
};

char** slot_of(char** variables, std::size_t count, const char* named, std::size_t size) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    if (std::strncmp(variables[i], named, size) == 0) return &variables[i];
  return nullptr;
}

// "NAME=TEXT" in front of the variable's own value: that need not be text that Node can read.
char* in_front(const char* setting, const char* own) noexcept {
  const std::size_t size = std::strlen(setting) + 1 + std::strlen(own) + 1;
  auto* joined = static_cast<char*>(std::malloc(size));
  if (joined) std::snprintf(joined, size, "%s:%s", setting, own);
  return joined;
}

// A setting is "=NAME=VALUE", or "+NAME=TEXT" for what comes in front of the value.
bool apply(char* setting, char** variables, std::size_t& count) noexcept {
  char* const variable = setting + 1;
  const char* const equals = std::strchr(variable, '=');
  if (!equals || (setting[0] != '=' && setting[0] != '+')) return false;
  const auto size = static_cast<std::size_t>(equals - variable) + 1;
  char** const own = slot_of(variables, count, variable, size);
  if (!own) variables[count++] = variable;
  else *own = setting[0] == '=' ? variable : in_front(variable, *own + size);
  return !own || *own != nullptr;
}

bool parse_start(Words& words, std::size_t most, int argc, char** environment, Answer& answer) noexcept {
  const char* const program = words.next();
  const char* const message = words.next();
  if (!message) return false;
  answer.program = std::atoi(program);
  answer.message = message;
  if (answer.program < 2 || answer.program >= argc) return false;
  std::size_t count = 0;
  while (environment[count]) ++count;
  auto** const variables = static_cast<char**>(std::calloc(count + most + 1, sizeof(char*)));
  if (!variables) return false;
  std::memcpy(variables, environment, count * sizeof(char*));
  while (char* setting = words.next())
    if (!apply(setting, variables, count)) return false;
  answer.environment = variables;
  return true;
}

bool parse_end(Words& words, Answer& answer) noexcept {
  const char* const status = words.next();
  const char* const message = words.next();
  if (!message) return false;
  answer.status = std::atoi(status);
  answer.message = message;
  return true;
}

}  // namespace

Text text_of(int fd) noexcept {
  struct stat info{};
  Text text;
  if (fstat(fd, &info) != 0 || info.st_size <= 0) return text;
  const auto size = static_cast<std::size_t>(info.st_size);
  text.at = static_cast<char*>(std::malloc(size));
  while (text.at && text.size < size) {
    const ssize_t n = pread(fd, text.at + text.size, size - text.size, static_cast<off_t>(text.size));
    if (n <= 0) return {};
    text.size += static_cast<std::size_t>(n);
  }
  return text;
}

bool parse_answer(const Text& text, int argc, char** environment, Answer& answer) noexcept {
  if (!text.at || text.size == 0 || text.at[text.size - 1] != '\0') return false;
  Words words(text);
  const char* const what = words.next();
  if (std::strcmp(what, "end") == 0) return parse_end(words, answer);
  // There are fewer words than bytes.
  return std::strcmp(what, "start") == 0 && parse_start(words, text.size, argc, environment, answer);
}

}  // namespace cotenant
