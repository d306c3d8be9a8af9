#include "interposer/record/file.h"

#include <errno.h>  // also program_invocation_short_name
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interposer/base/clock.h"
#include "interposer/base/own_descriptor.h"
#include "interposer/base/thread.h"
#include "interposer/lifetime/departure.h"
#include "interposer/process/process.h"

namespace cotenant::record {
namespace {

constexpr std::uint32_t kLookEveryUs = 20'000;
std::atomic<bool> watching{false};

class File {
 public:
  explicit File(const char* path) noexcept : own_(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Whether everything is in the file.
  bool finish() noexcept {
    flush();
    const int open = own_.number();
    return open >= 0 && close(open) == 0 && whole_;
  }

  void put(char c) noexcept {
    if (used_ == sizeof buffer_) flush();
    buffer_[used_++] = c;
  }
  void put(const char* text) noexcept {
    while (*text) put(*text++);
  }
  __attribute__((format(printf, 2, 3))) void print(const char* format, ...) noexcept {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(text);
  }
  void quote(const char* text) noexcept {
    put('"');
    for (; *text; ++text) {
      const auto c = static_cast<unsigned char>(*text);
      if (c == '"' || c == '\\') put('\\');
      if (c < 0x20) print("\\u%04x", c);
      else put(*text);
    }
    put('"');
  }

 private:
  void flush() noexcept {
    for (std::size_t at = 0; at < used_;) {
      const ssize_t n = write(own_.number(), buffer_ + at, used_ - at);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        whole_ = false;
        break;
      }
      at += static_cast<std::size_t>(n);
    }
    used_ = 0;
  }

  OwnDescriptor own_;
  bool whole_{true};
  std::size_t used_{0};
  char buffer_[16 << 10];
};

const char* comma(std::uint64_t i) noexcept { return i == 0 ? "\n    " : ",\n    "; }

void put_durations(File& file, const Durations& timed) noexcept {
  const std::uint32_t have = std::min(timed.samples, Durations::kSamples);
  file.print(",\"samples\":%u", have);
  if (have == 0) return;
  std::uint32_t sorted[Durations::kSamples];
  std::copy(timed.ns, timed.ns + have, sorted);
  std::sort(sorted, sorted + have);
  const auto rank = [&](std::uint32_t percent) { return sorted[(have * percent + 99) / 100 - 1]; };
  constexpr const char* kQualities[] = {"first", "idle", "backlog"};
  file.print(",\"timed\":\"%s\",\"durationNs\":{\"p50\":%u,\"p95\":%u}", kQualities[static_cast<int>(timed.quality)],
             rank(50), rank(95));
}

void put_kernel(File& file, const Kernel& kernel) noexcept {
  const auto& [gx, gy, gz, bx, by, bz, shared] = kernel.shape.of;
  file.put("{\"name\":");
  file.quote(kernel.name ? kernel.name : "unnamed");
  file.print(",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u]", gx, gy, gz, bx, by, bz);
  if (kernel.registers >= 0) file.print(",\"registers\":%d", kernel.registers);
  if (kernel.static_shared >= 0) file.print(",\"staticSharedBytes\":%d", kernel.static_shared);
  file.print(",\"dynamicSharedBytes\":%u", shared);
  if (kernel.blocks_per_sm > 0) file.print(",\"blocksPerSm\":%d", kernel.blocks_per_sm);
  file.print(",\"launches\":%" PRIu64, kernel.launches);
  put_durations(file, kernel.timed);
  file.put("}");
}

void put_item(File& file, Kind kind, std::uint32_t index, std::uint64_t amount) noexcept {
  switch (kind) {
    case Kind::kKernel: return file.print("{\"kernel\":%u", index);
    case Kind::kGraph: return file.print("{\"graph\":%u", index);
    case Kind::kCopyIn: return file.print("{\"copy\":\"in\",\"bytes\":%" PRIu64, amount);
    case Kind::kCopyOut: return file.print("{\"copy\":\"out\",\"bytes\":%" PRIu64, amount);
    case Kind::kWait: return file.print("{\"waitNs\":%" PRIu64, amount);
    case Kind::kNothing: return;
  }
}

void put_graph(File& file, const Tape& tape, const Graph& graph) noexcept {
  file.print("{\"launches\":%" PRIu64, graph.launches);
  put_durations(file, graph.timed);
  if (graph.known) {
    file.put(",\"steps\":[");
    for (std::uint32_t i = 0; i < graph.count; ++i) {
      const Item& item = tape.items[graph.first + i];
      if (i > 0) file.put(",");
      put_item(file, item.kind, item.index, item.bytes);
      file.put("}");
    }
    file.put("]");
  }
  file.put("}");
}

void put_gpu(File& file, const Tape& tape) noexcept {
  const Device& device = tape.device;
  file.put("  \"gpu\": {");
  if (device.name[0] != '\0') {
    file.put("\"name\":");
    file.quote(device.name);
    file.print(",\"computeCapability\":\"%d.%d\",\"sms\":%d", device.major, device.minor, device.sms);
  }
  file.print("},\n  \"severalGpus\": %s,\n", tape.several_devices ? "true" : "false");
}

void put_document(File& file, const Tape& tape) noexcept {
  file.put("{\n  \"version\": 1,\n  \"kind\": \"recording\",\n  \"program\": ");
  file.quote(program_invocation_short_name);
  file.put(",\n");
  put_gpu(file, tape);
  file.print("  \"beganNs\": %" PRIu64 ",\n", tape.began);
  file.print("  \"stepsSeen\": %" PRIu64 ",\n  \"launchesLost\": %" PRIu64 ",\n  \"kernels\": [", tape.steps_seen,
             tape.lost);
  for (std::uint32_t i = 0; i < tape.kernels_used; ++i) {
    file.put(comma(i));
    put_kernel(file, tape.kernels[i]);
  }
  file.put("\n  ],\n  \"graphs\": [");
  for (std::uint32_t i = 0; i < tape.graphs_used; ++i) {
    file.put(comma(i));
    put_graph(file, tape, tape.graphs[i]);
  }
  file.put("\n  ],\n  \"steps\": [");
  const std::uint64_t first = tape.steps_seen > Tape::kSteps ? tape.steps_seen - Tape::kSteps : 0;
  for (std::uint64_t i = first; i < tape.steps_seen; ++i) {
    const Step& step = tape.steps[i % Tape::kSteps];
    file.put(comma(i - first));
    put_item(file, step.kind, step.index, step.amount);
    file.print(",\"atNs\":%" PRIu64 ",\"gapNs\":%" PRIu64 "}", step.at - std::min(step.at, tape.began), step.gap);
  }
  file.put("\n  ]\n}\n");
}

void at_exit() {
  if (const Tape* tape = close_tape()) write_file(*tape);
}

void* watch(void*) {
  for (;;) {
    nap_us(kLookEveryUs);
    const int signal = leaving_signal();
    if (signal == 0) continue;
    if (const Tape* tape = close_tape()) write_file(*tape);
    leave(signal);
  }
}

// Not strerror, because it translates under locks. A thread that exits in a signal handler may have interrupted their
// holder. glibc's strerrordesc_np takes no locks, but is missing before 2.32.
const char* reason_of(int error) noexcept {
  switch (error) {
    case ENOENT: return "there is no such folder";
    case EACCES:
    case EPERM: return "permission denied";
    case EISDIR:
    case ENOTDIR: return "it is a folder, or in something that is none";
    case EROFS: return "the file system is read-only";
    case ENOSPC:
    case EDQUOT: return "no space is left";
    default: return nullptr;
  }
}

}  // namespace

void expect_end() noexcept {
  if (watching.exchange(true)) return;
  std::atexit(at_exit);
  if (start_thread(watch)) watch_for_leaving();
}

void forget_end() noexcept {
  if (!watching.exchange(false)) return;
  const int signal = leaving_signal();
  stop_watching();
  if (signal != 0) raise(signal);  // it came between the fork and here
}

void write_file(const Tape& tape) noexcept {
  const char* path = environment().record;
  char fresh[sizeof environment().record + 32];
  std::snprintf(fresh, sizeof fresh, "%s.%d.new", path, static_cast<int>(getpid()));
  File file(fresh);
  put_document(file, tape);
  if (file.finish() && rename(fresh, path) == 0) return;
  const int error = errno;
  if (const char* reason = reason_of(error)) tell("the recording could not be written to %s: %s.", path, reason);
  else tell("the recording could not be written to %s: error %d.", path, error);
  unlink(fresh);
}

}  // namespace cotenant::record
