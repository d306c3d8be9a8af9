#include "interposer/high/high.h"

#include <algorithm>

#include "gate/histogram.h"
#include "interposer/base/clock.h"
#include "interposer/high/holding.h"
#include "interposer/high/joins.h"
#include "interposer/high/left.h"
#include "interposer/high/publish.h"
#include "interposer/high/queue.h"
#include "interposer/high/segments.h"
#include "interposer/high/snapshot.h"
#include "interposer/high/words.h"
#include "interposer/lookup/entry.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

Gpu& gpu_of(const Stream& stream) noexcept { return *stream.context->gpu; }

// Sets the stream's bit in `busy` of its context. Written under the lock.
std::atomic<std::uint64_t>& busy_word(const Stream& stream) noexcept { return stream.context->busy[stream.index / 64]; }
std::uint64_t busy_bit(const Stream& stream) noexcept { return std::uint64_t{1} << stream.index % 64; }

// A client needs no sequence words if it has asked for completions kLooks times in a row, with fewer than kFew bursts
// before each that only words ended and after which it paused. Without a pause the GPU was only faster than the program.
constexpr std::uint32_t kLooks = 8;
constexpr std::uint32_t kFew = 4;
// A stream is forgotten after this time without submissions, or so many times the longest after which it was seen done.
constexpr std::uint64_t kForgottenNs = 1'000'000'000;
constexpr std::uint64_t kForgottenFactor = 10;
// A client is known to poll memory after this many bursts in a row that only words ended.
constexpr std::uint32_t kPolls = 64;

// These functions and their callers run under the lock of the GPU.
void activate(Gpu& gpu) noexcept {
  const std::uint64_t now = now_ns();
  HighGpu& own = gpu.high;
  if (own.word_ended_ns != 0) [[unlikely]] {
    if (now - own.word_ended_ns >= kPauseNs) {
      ++own.paused_by_words;
      note_paused(own);
    }
    own.word_ended_ns = 0;
    own.left.pending = false;
  }
  own.burst_start = now;
  own.waited.burst_begins(now);
  own.segment.begins(now, 0);
  own.crowded = false;
  own.worked = false;
  own.announced_until = 0;  // this burst is the request that was announced
  own.progress.burst_begins(now);
  own.startup.burst_begins(now);
  if (own.progress.unseen_ns(now) == 0) own.holding.sharing = false;
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return;
  update_hold(gpu, *link, now);
  link->high().busySince.store(now, std::memory_order_relaxed);
  if (own.holding.held) note_launch_ahead(*link);
}

// In the ring from which the agent learns which bursts belong together. The agent sees that a record was overwritten while
// it read it by `bursts`.
void record_burst(protocol::HighSlot& slot, std::uint64_t number, std::uint64_t begin, std::uint64_t end,
                  std::uint64_t waited) noexcept {
  auto* record = &slot.burstRecords[number % protocol::BURST_RECORDS * protocol::BURST_RECORD_WORDS];
  record[0].store(begin, std::memory_order_relaxed);
  record[1].store(end, std::memory_order_relaxed);
  record[2].store(waited, std::memory_order_relaxed);
  record[3].store(slot.launches.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void count_burst(Gpu& gpu, protocol::HighSlot& slot, std::uint64_t lasted) noexcept {
  if (lasted > gpu.high.longest_ns.load(std::memory_order_relaxed))
    gpu.high.longest_ns.store(lasted, std::memory_order_relaxed);
  const std::uint64_t waited = gpu.high.crowded ? lasted : gpu.high.waited.ns();
  slot.histogram[bucket_of(lasted)].fetch_add(1, std::memory_order_relaxed);
  slot.waits[bucket_of(waited)].fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t number = slot.bursts.load(std::memory_order_relaxed);
  record_burst(slot, number, gpu.high.burst_start, gpu.high.burst_start + lasted, waited);
  slot.bursts.store(number + 1,
                    std::memory_order_release);  // last, because the agent reads the others when this has grown
}

void publish_burst(Gpu& gpu, const Link& link, End end, std::uint64_t lasted) noexcept {
  auto& slot = link.high();
  slot.busySince.store(0, std::memory_order_relaxed);
  if (gpu.high.copied.load(std::memory_order_relaxed)) {
    gpu.high.copied.store(false, std::memory_order_relaxed);
    end_copies(link);
  }
  slot.busyNs.fetch_add(lasted, std::memory_order_relaxed);
  if (end == End::kGivenUp) slot.timeouts.fetch_add(1, std::memory_order_relaxed);
  if (end == End::kSeen || (end == End::kByWord && !gpu.high.left.pending)) count_burst(gpu, slot, lasted);
}

// The program was told that work is done. A sequence word may have ended the burst of that work before.
[[gnu::cold]] void note_look(Gpu& gpu) noexcept {
  HighGpu& own = gpu.high;
  if (!own.tails.load(std::memory_order_relaxed)) return;
  Locked lock(own.lock);
  if (!own.tails.load(std::memory_order_relaxed)) return;  // another thread has just cleared it
  if (const Link* link = gpu.link.load(std::memory_order_acquire); link && own.left.pending)
    count_burst(gpu, link->high(), own.left.pending_end - own.burst_start);
  own.left.pending = false;
  own.idle_words = own.paused_by_words < kFew ? own.idle_words + 1 : 0;
  own.by_words = own.paused_by_words = 0;
  own.word_ended_ns = 0;  // what follows it is the program's own look
  if (own.idle_words < kLooks) return;
  own.idle_words = 0;
  own.polls.store(false, std::memory_order_relaxed);
  if (own.left.words) return;
  own.tails.store(false, std::memory_order_relaxed);
  words_wanted.fetch_sub(1, std::memory_order_relaxed);
}

// A word ended the burst. What the program left behind after it had seen an end is no part of it.
[[gnu::cold, gnu::noinline]] std::uint64_t ended_by_word(HighGpu& own, std::uint64_t now) noexcept {
  ++own.by_words;
  own.word_ended_ns = now;
  if (own.polls.load(std::memory_order_relaxed)) return now;
  own.left.pending = own.left.seen_ns <= own.burst_start;
  own.left.pending_end = now;
  return own.left.pending ? now : own.left.seen_ns;
}

void deactivate(Gpu& gpu, End end, std::uint64_t now) noexcept {
  const std::uint64_t lasted = (end == End::kByWord ? ended_by_word(gpu.high, now) : now) - gpu.high.burst_start;
  if (end == End::kSeen) ++gpu.high.seen_bursts;
  if (end == End::kSeen || (end == End::kByWord && !gpu.high.left.pending)) {
    // A slowly decaying peak: it rises at once and falls by 1/64 a burst.
    auto& learned = gpu.high.learned_ns;
    learned = lasted > learned ? lasted : learned - (learned - lasted) / 64;
    gpu.high.unobserved = 0;
  }
  gpu.high.progress.burst_ends(now);
  gpu.high.startup.burst_ends(now, [&] { return gpu.high.crowded ? lasted : gpu.high.waited.ns(); });
  // If the next request is announced, there is no gap before it.
  if (gpu.high.announced_until <= now) gpu.high.announced_until = 0;
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return;
  publish_burst(gpu, *link, end, lasted);
  update_hold(gpu, *link, now);
}

[[gnu::cold]] void grow_old(Stream& stream) noexcept {
  Gpu& gpu = gpu_of(stream);
  HighStream& own = stream.high;
  Locked lock(gpu.high.lock);
  // Another thread may have ended that burst, and begun one.
  const std::uint64_t due = own.attend_at.load(std::memory_order_relaxed);
  if (due == HighStream::kIdle || own.begun.load(std::memory_order_relaxed) < due) return;
  own.attend_at.store(HighStream::kNothingDue, std::memory_order_relaxed);
  hold_old(gpu);
}

// Apart, so that other launches save no registers for it.
[[gnu::noinline]] void mark_busy(Stream& stream) noexcept {
  Gpu& gpu = gpu_of(stream);
  HighStream& own = stream.high;
  Locked lock(gpu.high.lock);
  if (own.busy(std::memory_order_relaxed)) return;
  own.presumed.store(false, std::memory_order_relaxed);
  busy_word(stream).fetch_or(busy_bit(stream), std::memory_order_release);
  own.attend_at.store(HighStream::kNothingDue, std::memory_order_seq_cst);
  if (gpu.high.busy_streams++ == 0) activate(gpu);
  // The stream's burst begins with its latest submission.
  if (const std::uint32_t after = gpu.high.holding.old_after; after != 0)
    own.attend_at.store(own.begun.load(std::memory_order_relaxed) - 1 + after, std::memory_order_relaxed);
}

// A request, or a part of it, is done, so best-effort work is held for the rest. An end that a word showed counts only
// for a client that is known to poll, because a client that starts up without asking for completions gets words, too.
void launch_ended(Gpu& gpu, End end, std::uint64_t now) noexcept {
  const bool counts = end == End::kSeen || (end == End::kByWord && gpu.high.by_words >= kPolls);
  if (!counts) return;
  if (gpu.high.holding.starting) gpu.high.progress.start_again(now);  // its limit is that of requests
  else gpu.high.progress.launch_ended(now);
  gpu.high.startup.launch_ended(now, [&] { return gpu.high.waited.ns(); });
  gpu.high.holding.sharing = false;
}

void end_if_done(Gpu& gpu, Stream& stream, End end, std::uint64_t now) noexcept {
  HighStream& own = stream.high;
  const std::uint64_t attend_at = own.attend_at.load(std::memory_order_relaxed);
  if (attend_at == HighStream::kIdle || own.done != own.begun.load(std::memory_order_seq_cst)) return;
  own.attend_at.store(HighStream::kIdle, std::memory_order_seq_cst);
  // A launch that began meanwhile either sees this and takes the lock, or is seen here.
  if (own.done != own.begun.load(std::memory_order_seq_cst)) {
    own.attend_at.store(attend_at, std::memory_order_seq_cst);
    return;
  }
  busy_word(stream).fetch_and(~busy_bit(stream), std::memory_order_relaxed);
  Silence& silence = own.silence;
  if (end == End::kSeen && silence.begun == own.done && now > silence.since)
    silence.longest_ns = std::max(silence.longest_ns, now - silence.since);
  if (stream.gone.load(std::memory_order_relaxed) && !is_special(stream)) stream_is_gone(stream);
  if (--gpu.high.busy_streams == 0) deactivate(gpu, end, now);
}

void raise_joined(Gpu& gpu, HighStream& own, End end, std::uint64_t now) noexcept;

// Marks work up to `upto` as done, in `stream` and in the streams that it has joined.
void raise(Gpu& gpu, Stream& stream, std::uint64_t upto, End end, std::uint64_t now) noexcept {
  HighStream& own = stream.high;
  note_queue(gpu.high, own);
  if (upto > own.done) {
    // Only the latest launch is known. If it is not among the finished work, an earlier one is assumed to be.
    if (own.launched.load(std::memory_order_relaxed) > own.done) launch_ended(gpu, end, now);
    gpu.high.segment.raise(stream, upto - own.done, own.graphs.take(upto));
    own.done = upto;
    gpu.high.worked = true;
  }
  const std::uint64_t copying_out = own.copying_out.load(std::memory_order_relaxed);
  if (copying_out != 0 && own.done >= copying_out) {
    gpu.high.startup.returned();
    high_end_copy(stream);
  }
  if (own.joined != 0) [[unlikely]]
    raise_joined(gpu, own, end, now);
  end_if_done(gpu, stream, end, now);
}

void raise_joined(Gpu& gpu, HighStream& own, End end, std::uint64_t now) noexcept {
  each_join(own, [&](Join& join) {
    if (!join.other || join.at > own.done) return;
    const Join due = join;
    join.other = nullptr;  // cleared first, because joins may form a ring
    --own.joined;
    raise(gpu, *due.other, due.upto, end, now);
  });
}

// Apart, so that other launches save no registers for it.
[[gnu::noinline]] void join_blocking(Stream& legacy) noexcept {
  each_busy(*legacy.context, Which::kBlocking,
            [&](Stream& other) { high_join(legacy, other, other.high.settled.load(std::memory_order_acquire)); });
}

// The legacy stream and the blocking ones wait for each other's earlier work.
void join_legacy(Stream& stream) noexcept {
  Context& context = *stream.context;
  Stream* legacy = context.legacy.load(std::memory_order_acquire);
  if (!legacy) return;
  if (legacy != &stream) high_join(stream, *legacy, legacy->high.settled.load(std::memory_order_acquire));
  else if (context.blocking_streams.load(std::memory_order_relaxed) > 1) join_blocking(stream);
}

}  // namespace

void high_begin(Stream& stream, Work work) noexcept {
  HighStream& own = stream.high;
  const std::uint64_t begun = own.begun.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (work == Work::kLaunch) own.launched.store(begun, std::memory_order_relaxed);
  const std::uint64_t attend_at = own.attend_at.load(std::memory_order_seq_cst);
  if (begun >= attend_at) attend_at == HighStream::kIdle ? mark_busy(stream) : grow_old(stream);
  if (const Link* link = gpu_of(stream).link.load(std::memory_order_acquire)) {
    if (work == Work::kLaunch) link->high().launches.fetch_add(1, std::memory_order_relaxed);
    if (work == Work::kCopy) link->high().copies.fetch_add(1, std::memory_order_relaxed);
  }
  if (stream.blocking) join_legacy(stream);
}

void high_withdraw(Stream& stream) noexcept {
  Gpu& gpu = gpu_of(stream);
  HighStream& own = stream.high;
  Locked lock(gpu.high.lock);
  const std::uint64_t begun = own.begun.fetch_sub(1, std::memory_order_seq_cst) - 1;
  if (own.done > begun) own.done = begun;  // high_give_up() was called meanwhile
  if (own.copying_out.load(std::memory_order_relaxed) > begun) high_end_copy(stream);
  end_if_done(gpu, stream, gpu.high.worked ? End::kSeen : End::kRefused, now_ns());
}

namespace {

// A launch of a client that shared the GPU was seen to end, so best-effort work is held again for the work still
// outstanding.
void protect_again(Gpu& gpu, std::uint64_t now) noexcept {
  if (gpu.high.busy_streams == 0 || gpu.high.holding.held) return;
  if (const Link* link = gpu.link.load(std::memory_order_acquire)) update_hold(gpu, *link, now);
}

void finish_segment(Gpu& gpu, End end, std::uint64_t now) noexcept {
  HighGpu& own = gpu.high;
  if (end == End::kByWord && !own.polls.load(std::memory_order_relaxed)) return own.segment.leaves_out();
  end_segment(gpu, now);
  if (end == End::kSeen) note_seen(own, own.busy_streams > 0 ? submissions_of(gpu) : kNothingLeft, now);
}

void observe(Stream& stream, std::uint64_t upto, std::uint64_t since, End end) noexcept {
  if (end == End::kSeen && words_wanted.load(std::memory_order_relaxed) != 0) note_look(gpu_of(stream));
  if (!stream.high.busy(std::memory_order_acquire)) return;
  Gpu& gpu = gpu_of(stream);
  Locked lock(gpu.high.lock);
  const std::uint64_t now = now_ns();
  gpu.high.waited.add(since, now);
  raise(gpu, stream, upto, end, now);
  finish_segment(gpu, end, now);
  protect_again(gpu, now);
}

}  // namespace

void high_observe(Stream& stream, std::uint64_t upto, std::uint64_t since) noexcept {
  observe(stream, upto, since, End::kSeen);
}

void high_observe_unseen(Stream& stream, std::uint64_t upto, std::uint64_t since, End end) noexcept {
  const bool more = stream.high.begun.load(std::memory_order_acquire) != upto;
  observe(stream, upto, more ? kDidNotWait : since, end);
}

void high_note_query(Stream& stream) noexcept {
  HighStream& own = stream.high;
  gpu_of(stream).high.polled_ns.store(now_ns(), std::memory_order_relaxed);
  const std::uint64_t begun = own.begun.load(std::memory_order_relaxed);
  if (own.first_query.begun.load(std::memory_order_relaxed) == begun) return;
  own.first_query.at_ns.store(now_ns(), std::memory_order_relaxed);
  own.first_query.begun.store(begun, std::memory_order_release);
}

std::uint64_t high_querying_since(const Stream& stream) noexcept {
  const HighStream& own = stream.high;
  const bool asked = own.first_query.begun.load(std::memory_order_acquire) == own.begun.load(std::memory_order_relaxed);
  return asked ? own.first_query.at_ns.load(std::memory_order_relaxed) : kDidNotWait;
}

namespace {

std::uint64_t asked_or_now(const Stream& stream) noexcept {
  const std::uint64_t asked = high_querying_since(stream);
  return asked == kDidNotWait ? now_ns() : asked;
}

// Apart, so that the usual case saves no registers for a call.
[[gnu::cold, gnu::noinline]] std::uint64_t young_blocked_since(const Stream& stream) noexcept {
  const std::uint64_t since = asked_or_now(stream);
  end_grace_period_of(gpu_of(stream));
  return since;
}

}  // namespace

std::uint64_t high_blocked_since(Stream& stream) noexcept {
  if (!stream.high.busy(std::memory_order_relaxed)) {
    if (!stream.high.presumed.load(std::memory_order_relaxed)) return kDidNotWait;
    mark_busy(stream);
  }
  if (gpu_of(stream).high.holding.young.load(std::memory_order_relaxed)) [[unlikely]]
    return young_blocked_since(stream);
  return asked_or_now(stream);
}

void high_note_blocked(Gpu& gpu, std::uint64_t since, std::uint64_t copy_ns) noexcept {
  Locked lock(gpu.high.lock);
  const std::uint64_t now = now_ns();
  if (copy_ns != 0) gpu.high.startup.copied(std::max(copy_ns, now - std::min(now, since)));
  if (gpu.high.busy_streams > 0) gpu.high.waited.add(since, now);
}

void high_join(Stream& stream, Stream& other, std::uint64_t upto) noexcept {
  if (&stream == &other || !other.high.busy(std::memory_order_relaxed)) return;
  Gpu& gpu = gpu_of(stream);
  if (&gpu != &gpu_of(other))
    return;  // the other GPU has another lock; completions must be observed on its own streams
  const std::uint64_t at = stream.high.begun.load(std::memory_order_relaxed);
  Locked lock(gpu.high.lock);
  add_join(stream.high, {&other, at, upto});
}

void high_observe(const Snapshot& snapshot, std::uint64_t since) noexcept {
  if (snapshot.empty()) return;
  Gpu& gpu = gpu_of(*snapshot.begin()->stream);  // all streams are of one context, and so of one GPU
  if (words_wanted.load(std::memory_order_relaxed) != 0) note_look(gpu);
  Locked lock(gpu.high.lock);
  if (gpu.high.busy_streams == 0) return;
  const std::uint64_t now = now_ns();
  gpu.high.waited.add(since, now);
  for (const Snapshot::Part& part : snapshot) raise(gpu, *part.stream, part.upto, End::kSeen, now);
  finish_segment(gpu, End::kSeen, now);
  protect_again(gpu, now);
}

namespace {

// Under HighGpu::lock. Nobody has shown that the work of the stream is done.
void presume_done(Gpu& gpu, Stream& stream, End end, std::uint64_t now) noexcept {
  raise(gpu, stream, stream.high.begun.load(std::memory_order_relaxed), end, now);
  stream.high.presumed.store(true, std::memory_order_relaxed);
  stream.context->presumed.store(true, std::memory_order_release);
}

}  // namespace

void high_doubt(Context& context, Which which) noexcept {
  context.presumed.store(false, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    Stream& stream = stream_at(i);
    if (stream.context != &context || !stream.high.presumed.load(std::memory_order_acquire)) continue;
    if (which == Which::kAll || stream.blocking) mark_busy(stream);
    else context.presumed.store(true, std::memory_order_relaxed);
  }
}

void high_forget(Stream& stream, std::uint64_t now) noexcept {
  Gpu& gpu = gpu_of(stream);
  HighStream& own = stream.high;
  Locked lock(gpu.high.lock);
  const std::uint64_t begun = own.begun.load(std::memory_order_relaxed);
  Silence& silence = own.silence;
  if (silence.begun != begun || silence.since == 0) {
    silence.begun = begun;
    silence.since = now;
  }
  const std::uint64_t silent = now > silence.since ? now - silence.since : 0;
  const std::uint64_t patience = std::max(kForgottenNs, kForgottenFactor * silence.longest_ns);
  // Only while the program is told that other work is done: else it may be this work that it waits for.
  if (silent < patience || gpu.high.progress.unseen_ns(now) > silent / 2) return;
  presume_done(gpu, stream, End::kGivenUp, now);
  if (gpu.high.busy_streams == 0) return;  // the burst ended with it and is counted
  if (const Link* link = gpu.link.load(std::memory_order_acquire))
    link->high().timeouts.fetch_add(1, std::memory_order_relaxed);
}

namespace {

// Under HighGpu::lock.
void raise_all(Gpu& gpu, End end, std::uint64_t now) noexcept {
  for (std::uint32_t i = 0; i < stream_count(); ++i) {
    Stream& stream = stream_at(i);
    if (stream.context->gpu == &gpu && stream.high.busy(std::memory_order_relaxed)) presume_done(gpu, stream, end, now);
  }
}

// Steps that tell how long one takes.
constexpr std::uint32_t kMinMains = 13;
// Work that is left behind is a step at most. It counts as done after this many times the length of one, and no sooner than the
// helper thread can tell.
constexpr std::uint64_t kLeftSteps = 4;
constexpr std::uint64_t kMinLeftNs = 20'000'000;

}  // namespace

void high_leave(Gpu& gpu, std::uint64_t quiet_since, std::uint64_t now) noexcept {
  HighGpu& own = gpu.high;
  Locked lock(own.lock);
  const bool behind_step = own.busy_streams > 0 && own.segment.begin > own.burst_start;
  if (!behind_step || own.segment.mains < kMinMains || own.polls.load(std::memory_order_relaxed)) return;
  if (own.waiters.load(std::memory_order_relaxed) != 0) return;
  const std::uint64_t latest =
      std::max({quiet_since, own.segment.begin, own.polled_ns.load(std::memory_order_relaxed)});
  if (now < latest + std::max(kMinLeftNs, kLeftSteps * own.segment.main_ns)) return;
  raise_all(gpu, End::kLeft, now);
}

void high_give_up(Gpu& gpu) noexcept {
  Locked lock(gpu.high.lock);
  raise_all(gpu, End::kGivenUp, now_ns());
  ++gpu.high.unobserved;
}

}  // namespace cotenant
