// A test program ends with a sentence when something is not as it should be.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

namespace harness {

[[noreturn]] inline void fail(const std::string& sentence) {
  std::fprintf(stderr, "%s\n", sentence.c_str());
  std::fflush(stderr);
  _exit(1);
}

inline void expect(bool holds, const std::string& sentence) {
  if (!holds) fail("expected: " + sentence);
}

}  // namespace harness
