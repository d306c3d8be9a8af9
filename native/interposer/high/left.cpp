#include "interposer/high/left.h"

#include <algorithm>

#include "interposer/high/snapshot.h"
#include "interposer/high/words.h"

namespace cotenant {
namespace {

constexpr std::uint32_t kFound = 4;
constexpr std::uint32_t kWanted = 20;
constexpr std::uint32_t kMaxScore = 64;
constexpr std::uint64_t kCountEveryNs = 10'000'000;

void want_words(Gpu& gpu) noexcept {
  HighGpu& own = gpu.high;
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    Stream& stream = stream_at(i);
    if (stream.context->gpu == &gpu && stream.high.busy(std::memory_order_relaxed))
      stream.high.left_behind.store(true, std::memory_order_relaxed);
  }
  own.left.words = true;
  if (!own.tails.exchange(true, std::memory_order_relaxed)) words_wanted.fetch_add(1, std::memory_order_relaxed);
}

void end_words(HighGpu& own) noexcept {
  own.left.words = false;
  own.left.pending = false;
  if (own.polls) return;
  own.tails.store(false, std::memory_order_relaxed);
  words_wanted.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

std::uint64_t submissions_of(const Gpu& gpu) noexcept {
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return 0;
  return link->high().launches.load(std::memory_order_relaxed) + link->high().copies.load(std::memory_order_relaxed);
}

void note_unneeded(HighGpu& own) noexcept {
  if (own.left.words) end_words(own);
}

bool rests(const HighGpu& own, std::uint64_t latest_ns, bool looked, std::uint64_t now) noexcept {
  if (own.busy_streams == 0 || own.waiters.load(std::memory_order_relaxed) != 0 || own.left.seen_ns == 0) return false;
  const std::uint64_t polled = own.polled_ns.load(std::memory_order_relaxed);
  if (looked) return polled <= own.left.seen_ns && now > own.left.seen_ns + kLeftAfterLookNs;
  return now > std::max({latest_ns, own.left.seen_ns, polled}) + kLeftAfterWorkNs;
}

void note_paused(HighGpu& own) noexcept {
  if (own.left.words) own.left.score = std::min(own.left.score + kFound, kMaxScore);
}

void look_for_left(Gpu& gpu, std::uint64_t quiet_since, std::uint64_t now) noexcept {
  HighGpu& own = gpu.high;
  LeftWork& left = own.left;
  if (now < left.counted_ns + kCountEveryNs) return;
  const bool looked = submissions_of(gpu) == left.seen_submissions;
  if (!rests(own, quiet_since, looked, now)) return;
  left.counted_ns = now;
  left.score = std::min(left.score + kFound, kMaxScore);
  if (left.score >= kWanted) want_words(gpu);
}

}  // namespace cotenant
