// What ptxas says of a text with forms that it refuses: whose fault it is.
#pragma once

#include <cstdlib>
#include <cstring>

#include "ptxas/form_text.h"

namespace cotenant {

enum class Blame {
  kForms,    // they were taken out
  kProgram,  // the program's own text is wrong
  kUnknown,
};

// Which function has this line, from 1.
inline bool function_at(char* text, long line, form_text::Function& out) noexcept {
  form_text::Reader reader(text);
  const char* counted = text;
  long now = 1;
  const auto count_to = [&](const char* end) {
    for (; counted < end; ++counted) now += *counted == '\n';
    return now;
  };
  while (reader.next(out)) {
    const bool begun = count_to(out.word) <= line;
    if (count_to(out.end) >= line) return begun;
  }
  return false;
}

// The form that has this name in quotes: "Entry function 'k__cotenant_slice' uses too much shared data".
inline bool form_named(char* text, const char* error, form_text::Function& out) noexcept {
  form_text::Reader reader(text);
  while (reader.next(out)) {
    if (!form_text::suffix_of(out)) continue;
    for (const char* at = error; (at = std::strchr(at, '\''));) {
      ++at;
      if (std::strncmp(at, out.name, out.name_size) == 0 && at[out.name_size] == '\'') return true;
    }
  }
  return false;
}

// Takes the forms out that the errors mean, and with a device function all forms that may call it. Lines stay where they
// are, so that later errors mean what they meant. Overwrites what was said.
inline Blame take_out_refused(char* text, char* said) noexcept {
  Blame blame = Blame::kUnknown;
  char* rest = nullptr;
  for (char* error = strtok_r(said, "\n", &rest); error; error = strtok_r(nullptr, "\n", &rest)) {
    if (!std::strstr(error, "error")) continue;
    form_text::Function one{};
    const char* line = std::strstr(error, ", line ");
    const bool found = line ? function_at(text, std::strtol(line + std::strlen(", line "), nullptr, 10), one)
                            : form_named(text, error, one);
    if (!found) continue;
    if (!form_text::suffix_of(one)) return Blame::kProgram;
    if (one.entry) form_text::take_out(one);
    else form_text::take_out_all(text, form_text::suffix_of(one));
    blame = Blame::kForms;
  }
  return blame;
}

}  // namespace cotenant
