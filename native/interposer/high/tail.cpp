#include "interposer/high/tail.h"

#include <algorithm>
#include <iterator>

#include "interposer/base/clock.h"
#include "interposer/high/high.h"
#include "interposer/high/holding.h"
#include "interposer/high/left.h"
#include "interposer/high/requests.h"
#include "interposer/high/words.h"

namespace cotenant {

namespace {

constexpr std::uint64_t kTailEveryNs = 200'000;        // at most one word in flight a stream per 200 us
constexpr std::uint64_t kSilenceNs = 50'000'000;  // how long to wait before giving up: at least 50 ms,
constexpr std::uint64_t kFirstSilenceNs = 1'000'000'000;  // at least 1 s while no burst has been seen,
constexpr std::uint64_t kSilenceFactor = 10;  // at least 10 times the longest recent burst
constexpr std::uint32_t kUnobservedToTail = 2;
constexpr std::uint64_t kUnseenNs = 1'000'000'000;  // so long, and so many submissions, without asking for a completion
constexpr std::uint64_t kUnseenSubmissions = 16;
constexpr std::uint32_t kEnds = 3;  // this many times after work of one kind
constexpr std::uint32_t kTailLookUs = 500;
constexpr std::uint32_t kQuietLookUs = 10'000;
constexpr std::uint64_t kLongestLookNs = 30'000'000;  // of the time between two polls, more is not known
constexpr std::uint64_t kRecentlyNs = 100'000'000;

void want_tails(HighGpu& own) noexcept {
  own.polls = true;
  if (!own.tails.exchange(true, std::memory_order_relaxed)) words_wanted.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t kind_of(const Submission& submission) noexcept {
  return submission.shape ? submission.shape->key() : 1 + static_cast<std::uint64_t>(submission.bus);
}

// A kind of work as it is left in this stream. In another one a request may need it.
std::uint64_t kind_left(const Stream& stream, std::uint64_t kind) noexcept {
  return (kind ^ (std::uint64_t{stream.index} + 1) << 32) * 0x9e3779b97f4a7c15;
}

bool ends_requests(const HighGpu& own, std::uint64_t kind) noexcept {
  return std::any_of(std::begin(own.endings), std::end(own.endings),
                     [=](const Ending& each) { return each.kind == kind && each.times >= kEnds; });
}

void count_ending(HighGpu& own, std::uint64_t kind) noexcept {
  Ending* chosen = &own.endings[0];
  for (Ending& each : own.endings) {
    if (each.kind == kind) return void(++each.times);
    if (each.times < chosen->times) chosen = &each;
  }
  *chosen = {kind, 1};
}

// Under the lock. The application has submitted nothing for a while, and no word follows its latest work.
void note_silence(HighGpu& own, Stream& stream, std::uint64_t now) noexcept {
  TailWord& tail = stream.high.tail;
  const std::uint64_t begun = stream.high.begun.load(std::memory_order_relaxed);
  if (tail.latest == 0 || tail.counted == begun || tail.upto >= begun) return;
  const bool pauses = own.polls && now - tail.latest_ns >= kPauseNs;
  const bool left = own.left.words && rests(own, tail.latest_ns, own.left.seen_ns > tail.latest_ns, now);
  if (!pauses && !left) return;
  tail.counted = begun;
  if (pauses) count_ending(own, tail.latest);
  if (left) count_ending(own, kind_left(stream, tail.latest));
}

void read_tail(Gpu& gpu, Stream& stream, std::uint64_t now) noexcept {
  TailWord tail;
  {
    Locked lock(gpu.high.lock);
    tail = stream.high.tail;
    note_silence(gpu.high, stream, now);
    // Nobody has waited for work that is left behind.
    if (!gpu.high.polls) tail.at_ns = kDidNotWait;
  }
  if (tail.number != 0 && read_word(stream, SequenceWord::kTail) == tail.number)
    high_observe_unseen(stream, tail.upto, tail.at_ns, End::kByWord);
}

// Detects a client that submits much and does not ask for completions.
void look_for_polling(Gpu& gpu, std::uint64_t submitted, std::uint64_t now) noexcept {
  HighGpu& own = gpu.high;
  Locked lock(own.lock);
  const bool unseen = own.progress.unseen_ns(now) > own.progress.limit_ns(kUnseenNs);
  if (!unseen || own.seen_bursts != own.quiet_seen) own.seen_count = submitted;
  own.quiet_seen = own.seen_bursts;
  if (submitted - own.seen_count >= kUnseenSubmissions) want_tails(own);
}

}  // namespace

void write_tail(Stream& stream, const Submission& submission, Tail may_end) noexcept {
  Gpu& gpu = *stream.context->gpu;
  if (!words_work(*stream.context)) return;
  const std::uint64_t now = now_ns();
  std::uint32_t number = 0;
  {
    Locked lock(gpu.high.lock);
    TailWord& tail = stream.high.tail;
    tail.latest = kind_of(submission);
    tail.latest_ns = now;
    const HighGpu& own = gpu.high;
    const bool ends = (own.polls && ends_requests(own, tail.latest)) ||
                      (own.left.words && ends_requests(own, kind_left(stream, tail.latest)));
    if (!ends) {
      const bool in_flight = read_word(stream, SequenceWord::kTail) != tail.number;
      if (!own.polls || may_end == Tail::kNo || (in_flight && now - tail.at_ns < kTailEveryNs)) return;
    }
    number = ++tail.number;
    tail.upto = stream.high.settled.load(std::memory_order_acquire);
    tail.at_ns = now;
  }
  write_word(stream, SequenceWord::kTail, number);
}

void high_write_last_word(Stream& stream) noexcept {
  if (!words_work(*stream.context)) return;
  std::uint32_t number = 0;
  {
    Locked lock(stream.context->gpu->high.lock);
    TailWord& tail = stream.high.tail;
    number = ++tail.number;
    tail.upto = stream.high.settled.load(std::memory_order_acquire);
    tail.at_ns = now_ns();
  }
  write_word(stream, SequenceWord::kTail, number);
}

std::uint32_t high_tick(Gpu& gpu, std::uint64_t now) noexcept {
  HighGpu& own = gpu.high;
  high_beat(gpu);
  publish_open_requests(gpu);
  std::uint64_t submitted = 0;
  bool busy = false;
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    Stream& stream = stream_at(i);
    if (stream.context->gpu != &gpu) continue;
    submitted += stream.high.begun.load(std::memory_order_relaxed);
    if (!stream.high.busy(std::memory_order_relaxed)) continue;
    read_tail(gpu, stream, now);
    high_forget(stream, now);
    busy = busy || stream.high.busy(std::memory_order_relaxed);
  }
  const std::uint64_t looked = own.last_poll_ns;
  own.last_poll_ns = now;
  const bool submits = busy && submitted != own.quiet_count;
  if (busy || submitted != own.quiet_count) own.latest_ns = now;
  if (!busy || submitted != own.quiet_count) {
    own.quiet_count = submitted;
    own.quiet_since = now;
  }
  std::uint64_t learned = 0;
  {
    Locked lock(own.lock);
    learned = own.learned_ns;
    look_for_left(gpu, own.quiet_since, now);
    if (submits) own.startup.submitted(std::min(now - looked, kLongestLookNs));
  }
  const std::uint64_t patience = learned == 0                            ? kFirstSilenceNs
                                 : learned * kSilenceFactor > kSilenceNs ? learned * kSilenceFactor
                                                                         : kSilenceNs;
  if (busy && now - own.quiet_since > patience) {
    high_give_up(gpu);
    own.quiet_since = now;
    if (own.unobserved >= kUnobservedToTail) want_tails(own);
  }
  if (busy) high_leave(gpu, own.quiet_since, now);
  look_for_polling(gpu, submitted, now);
  high_share(gpu, now);
  const bool look = own.tails.load(std::memory_order_relaxed) && now - own.latest_ns < kRecentlyNs;
  return std::min(look ? kTailLookUs : kQuietLookUs, high_expire(gpu, now));
}

}  // namespace cotenant
