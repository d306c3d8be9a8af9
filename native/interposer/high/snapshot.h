// The streams of a context that are busy, and how far each of them had been submitted when a call began that shows work of
// several streams to be done: a wait for the whole context, or an operation of the legacy stream.
#pragma once

#include <cstdint>

#include "interposer/state/gpu.h"

namespace cotenant {

enum class Which : int { kAll, kBlocking };

// visit(stream) for each busy stream of the context. Their launches wait for nothing of this.
template <class Visit>
void each_busy(const Context& context, Which which, Visit&& visit) noexcept {
  const std::uint32_t words = (stream_count() + 63) / 64;
  for (std::uint32_t i = 0; i < words; ++i) {
    for (std::uint64_t left = context.busy[i].load(std::memory_order_acquire); left != 0; left &= left - 1) {
      Stream& stream = stream_at(i * 64 + static_cast<std::uint32_t>(__builtin_ctzll(left)));
      if (stream.context == &context && (which == Which::kAll || stream.blocking)) visit(stream);
    }
  }
}

// Whether the order of the legacy stream makes this stream's next operation wait for work of another one.
[[nodiscard]] bool has_others_before(const Stream& stream) noexcept;
[[nodiscard]] inline bool is_behind_others(const Stream& stream) noexcept {
  return stream.context->blocking_streams.load(std::memory_order_relaxed) > 1 && has_others_before(stream);
}

// Whether the driver says that the stream's work is done. Not asked, and false, where the question might disturb the program.
[[nodiscard]] bool is_done(Stream& stream) noexcept;

class Snapshot {
 public:
  struct Part {
    Stream* stream;
    std::uint64_t upto;
  };

  Snapshot() noexcept {}
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  void take(const Context& context, Which which) noexcept;
  // Leaves out streams that are not done.
  void keep_done() noexcept;

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] const Part* begin() const noexcept { return parts_; }
  [[nodiscard]] const Part* end() const noexcept { return parts_ + count_; }

 private:
  static constexpr std::uint32_t kFew = 64;
  void add(const Part& part) noexcept;

  std::uint32_t count_{0};
  Part* parts_{few_};
  Part few_[kFew];
};

}  // namespace cotenant
