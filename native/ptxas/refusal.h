// Finds out what the errors of ptxas refer to: the variants, or the program's own text.
#pragma once

#include <cstdlib>
#include <cstring>

#include "ptxas/variant_text.h"

namespace cotenant {

enum class Blame {
  kVariants,  // the variants in question were removed
  kProgram,  // the program's own text is wrong
  kUnknown,
};

// Finds the function that contains this line; lines count from 1.
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

// Finds the variant whose name an error has in quotes: "Entry function 'k__cotenant_slice' uses too much shared data".
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

// Removes the variants that the errors refer to, and for a device function all variants that may call it. The line
// numbers stay the same, so that later errors still refer to the right lines. Overwrites `said`.
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
