// Runs a child of the case that is recorded, and reads its file: it is written when a process ends.
#pragma once

#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>

#include "../fixture.h"

namespace harness {

inline std::string file_named(const char* name) { return std::string(getenv("COTENANT_SOFTGPU_DIR")) + "/" + name; }

inline std::string contents(const std::string& path) {
  std::string text;
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (!file) return text;
  char piece[4096];
  for (std::size_t n = 0; (n = std::fread(piece, 1, sizeof piece, file)) > 0;) text.append(piece, n);
  std::fclose(file);
  return text;
}

inline bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

inline int ended(pid_t child) {
  int status = 0;
  expect(waitpid(child, &status, 0) == child, "the child ends");
  return status;
}

// Runs `work` in a child that is recorded and exits; what its file says.
template <class Work>
std::string recorded(Work work) {
  const std::string path = file_named("recording.json");
  const pid_t child = fork();
  if (child == 0) {
    setenv("COTENANT_RECORD", path.c_str(), 1);
    work();
    std::exit(0);
  }
  const int status = ended(child);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the recorded process exits with 0");
  return contents(path);
}

inline std::size_t count(const std::string& in, const std::string& what) {
  std::size_t times = 0;
  for (std::size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + what.size())) ++times;
  return times;
}

inline void expect_said(const std::string& document, const std::string& what) {
  if (document.find(what) == std::string::npos) fail("expected: " + what + " in\n" + document);
}

// The median duration in a kernel's line, in us.
inline std::uint64_t median_us(const std::string& document, const std::string& kernel) {
  const std::size_t at = document.find(kernel);
  const std::size_t found = at == std::string::npos ? at : document.find("\"p50\":", at);
  if (found == std::string::npos || found > document.find('\n', at))
    fail("no duration of " + kernel + " in\n" + document);
  return std::strtoull(document.c_str() + found + 6, nullptr, 10) / 1000;
}

}  // namespace harness
