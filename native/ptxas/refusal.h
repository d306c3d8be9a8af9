// What ptxas says of a text with variants that it refuses: whose fault it is.
#pragma once

#include <cstdlib>
#include <cstring>

#include "ptxas/variant_text.h"

namespace cotenant {

enum class Blame {
  kVariants,  // they were taken out
  kProgram,  // the program's own text is wrong
  kUnknown,
};

// Which function has this line, from 1.
inline bool function_at(char* text, long line, variant_text::Function& out) noexcept {
  variant_text::Reader reader(text);
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

// The variant that has this name in quotes: "Entry function 'k__cotenant_slice' uses too much shared data".
inline bool variant_named(char* text, const char* error, variant_text::Function& out) noexcept {
  variant_text::Reader reader(text);
  while (reader.next(out)) {
    if (!variant_text::suffix_of(out)) continue;
    for (const char* at = error; (at = std::strchr(at, '\''));) {
      ++at;
      if (std::strncmp(at, out.name, out.name_size) == 0 && at[out.name_size] == '\'') return true;
    }
  }
  return false;
}

// Takes the variants out that the errors mean, and with a device function all variants that may call it. Lines stay where they
// are, so that later errors mean what they meant. Overwrites what was said.
inline Blame take_out_refused_variants(char* text, char* said) noexcept {
  Blame blame = Blame::kUnknown;
  char* rest = nullptr;
  for (char* error = strtok_r(said, "\n", &rest); error; error = strtok_r(nullptr, "\n", &rest)) {
    if (!std::strstr(error, "error")) continue;
    variant_text::Function one{};
    const char* line = std::strstr(error, ", line ");
    const bool found = line ? function_at(text, std::strtol(line + std::strlen(", line "), nullptr, 10), one)
                            : variant_named(text, error, one);
    if (!found) continue;
    if (!variant_text::suffix_of(one)) return Blame::kProgram;
    if (one.entry) variant_text::take_out(one);
    else variant_text::take_out_all(text, variant_text::suffix_of(one));
    blame = Blame::kVariants;
  }
  return blame;
}

}  // namespace cotenant
