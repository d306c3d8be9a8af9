#include "interposer/best_effort/best_effort.h"

#include <algorithm>
#include <cstdio>

#include "generated/rules.h"
#include "interposer/base/clock.h"
#include "interposer/best_effort/border.h"
#include "interposer/best_effort/chunk_log.h"
#include "interposer/best_effort/exclusive_stream.h"
#include "interposer/best_effort/hold_word.h"
#include "interposer/best_effort/marks.h"
#include "interposer/best_effort/outstanding.h"
#include "interposer/best_effort/standstill.h"
#include "interposer/kernels/function.h"
#include "interposer/kernels/occupancy.h"
#include "interposer/kernels/ranks.h"
#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"
#include "interposer/process/helper_state.h"
#include "interposer/products/call.h"
#include "interposer/state/capture.h"
#include "interposer/state/gpu.h"
#include "interposer/variants/variants.h"

namespace cotenant {
namespace {

using protocol::Region;

constexpr std::uint64_t kSpinNs = 20'000;
// The wait at the gate for work to end is short, and the GPU is idle until this thread notices the end.
constexpr std::uint64_t kSpinForRoomNs = 400'000;
constexpr std::uint64_t kNeverLongerNs =
    5'000'000'000;  // the longest wait, except the one for a stream that another thread uses exclusively
constexpr std::uint32_t kLongNs = 300'000;
constexpr std::uint32_t kCollectEvery = 32;

// Whether the rules depend on what a single kernel needs.
bool needs_count(const Rules& rules) noexcept {
  using protocol::WhenActive;
  return rules.when_active == WhenActive::kAllowOpposite || rules.when_active == WhenActive::kAllowShort ||
         rules.when_active == WhenActive::kAllowFitting;
}

constexpr Needs kUnknownNeeds{0, KernelClass::kUnknown, 0};

// Needs of a graph are not known. Copies and fills have no class and leave the SMs to other work (Orion, section
// 5.1.3, submits them directly). The gate has a rule by which a copy waits for another copy.
Needs needs_beside(const Submission& submission, std::uint32_t sm_count) noexcept {
  using Kind = Submission::Kind;
  if (submission.kind == Kind::kKernel) return needs_of(*submission.shape, sm_count);
  return submission.kind == Kind::kCopy ? Needs{1, KernelClass::kUnknown, 0} : kUnknownNeeds;
}

[[gnu::cold]] void wait_while_stopped(Stop& stop) noexcept {
  stop.callers.fetch_add(1, std::memory_order_seq_cst);
  const std::uint64_t started = now_ns();
  while ((stop.reasons.load(std::memory_order_seq_cst) & Stop::kLeaving) != 0 && now_ns() - started < kNeverLongerNs)
    nap_us(1000);
  wait_while_moving(stop);
  stop.callers.fetch_sub(1, std::memory_order_seq_cst);
}

void say_waiting(const Link& link) noexcept {
  auto& waiting = link.best_effort().waiting;
  if (waiting.load(std::memory_order_relaxed) == 0) waiting.store(1, std::memory_order_relaxed);
}

// Whether a launch must wait for work of the stream to end.
bool is_full(Stream& stream, const Link& link, const Rules& rules) noexcept {
  const Lane& lane = stream.lane;
  read_mark(stream, link);
  const std::uint64_t launches = lane.launches.load(std::memory_order_relaxed);
  const std::uint64_t out = launches - std::min(launches, lane.finished_launches.load(std::memory_order_relaxed));
  const bool room = has_room(rules, out, [&] { return unfinished_ns(lane); }) && queue_entries(lane, out) < kMaxEntries;
  if (room || lane.stands.load(std::memory_order_relaxed)) return false;
  return !stands_still(lane) || is_crowded(lane);
}

[[gnu::noinline]] void wait_while_full(Gpu& gpu, Stream& stream, const Link& link, const Rules& rules) noexcept {
  Waiting waiting(gpu.best_effort);
  const std::uint64_t started = now_ns();
  while (is_full(stream, link, rules) && now_ns() - started < kNeverLongerNs) {
    spin_then_nap(started, kSpinNs);
    read_event_marks(gpu);
  }
  link.best_effort().cappedNs.fetch_add(now_ns() - started, std::memory_order_relaxed);
}

// Deep submission: waits until the stream has room for another launch behind the pause flag. Runs after the preemption point was
// submitted, so that a mark follows all the work that counts against the limit.
void wait_for_room(Gpu& gpu, Stream& stream, const Link& link, const Rules& rules) noexcept {
  if (is_full(stream, link, rules)) wait_while_full(gpu, stream, link, rules);
}

// Whether a copy over PCIe of an active high client is in flight.
bool high_copying(const protocol::HoldPage& page, std::uint64_t now) noexcept {
  std::uint64_t left = page.active.load(std::memory_order_seq_cst);
  for (; left != 0; left &= left - 1)
    if (page.high[__builtin_ctzll(left)].copyUntil.load(std::memory_order_relaxed) > now) return true;
  return false;
}

// Waits until a copy may be submitted: see admit_copy().
[[gnu::noinline]] void wait_for_bus(Gpu& gpu, const Link& link, const Rules& rules) noexcept {
  const std::uint64_t started = now_ns();
  for (std::uint64_t now = started;; now = now_ns()) {
    const Outstanding out = best_effort_outstanding(gpu);
    const std::uint64_t ahead_us = (out.ns - std::min(out.ns, out.unmarked_ns) + 999) / 1000;
    const Answer answer = admit_copy(rules, (now - started) / 1000, ahead_us, high_copying(link.hold_page(), now));
    if (answer == Answer::kRun) return;
    if (answer == Answer::kProgress) break;
    mark_open_lanes(gpu, link);
    Waiting waiting(gpu.best_effort);
    spin_then_nap(started, kSpinNs);
  }
  link.best_effort().minProgress.fetch_add(1, std::memory_order_relaxed);
}

// Updates the limits that only some policies set, after a launch was let through.
void spend(BestEffortGpu& own, const Rules& rules, const GateView& seen, const Item& item, std::uint64_t now) noexcept {
  if (rules.budget_us > 0) own.spent_us.store(spent_after(rules, seen, item), std::memory_order_relaxed);
  if (rules.launch_every_ns > 0)
    own.due_ns.store(due_after(rules, own.due_ns.load(std::memory_order_relaxed), now), std::memory_order_relaxed);
}

// Launch-by-launch gating: asks the gate until it lets this item through. The helper thread accounts for the waiting
// time, because it sees that a caller waits.
[[gnu::noinline]] void wait_for_gate(Gpu& gpu, const Link& link, const Item& item) noexcept {
  if (in_gang_operation) return;  // its commit is its gate
  Region& region = *link.region;
  const std::uint64_t started = now_ns();
  for (;;) {
    const Rules rules = read_rules(region.settings);
    const std::uint64_t now = now_ns();
    GateView seen = best_effort_view(gpu, link, now);
    seen.high_copying = item.copy && high_copying(link.hold_page(), now);
    seen.held_us = (now - started) / 1000;
    seen.progressed_us = std::max<std::uint64_t>(seen.held_us, 1);
    if (rules.progress_every_us > 0 && gpu.best_effort.progressed_at)
      seen.progressed_us = (now - gpu.best_effort.progressed_at) / 1000;
    const Answer answer = admit(rules, seen, item);
    if (answer == Answer::kProgress) {
      gpu.best_effort.progressed_at = now;
      // A launch that the policy allows beside a request is not counted as minimum progress.
      if (seen.held_us >= rules.progress_after_us)
        link.best_effort().minProgress.fetch_add(1, std::memory_order_relaxed);
    }
    if (answer == Answer::kRun || answer == Answer::kProgress || now - started > kNeverLongerNs)
      return spend(gpu.best_effort, rules, seen, item, now);
    // Without a mark behind the outstanding work nobody would see it end.
    mark_open_lanes(gpu, link);
    read_event_marks(gpu);
    Waiting waiting(gpu.best_effort);
    const bool soon = answer == Answer::kAheadFull || answer == Answer::kPaced;
    spin_then_nap(started, soon ? kSpinForRoomNs : kSpinNs);
  }
}

// The agent may read the name while it is written. It is for people only.
[[gnu::cold]] void note_longest(protocol::BestEffortSlot& slot, const Submission& submission,
                                std::uint64_t ns) noexcept {
  slot.longestNs.store(ns, std::memory_order_relaxed);
  const bool kernel = submission.kind == Submission::Kind::kKernel && submission.shape;
  const BesideCaptures beside;
  const char* name = kernel ? named_function(submission.shape->function).name : nullptr;
  std::snprintf(slot.longestName, sizeof slot.longestName, "%s", name ? name : "");
}

// Budgets use `ns`, statistics use `typical_ns`.
void count(protocol::BestEffortSlot& slot, const Submission& submission, std::uint64_t ns, std::uint64_t typical_ns,
           bool known) noexcept {
  using Kind = Submission::Kind;
  auto& counter = submission.kind == Kind::kKernel ? slot.launches
                  : submission.kind == Kind::kCopy ? slot.copies
                                                   : slot.graphs;
  if (submission.kind != Kind::kGraphPart) counter.fetch_add(1, std::memory_order_relaxed);
  slot.submittedNs.fetch_add(typical_ns, std::memory_order_relaxed);
  if (!known) slot.unknownLaunches.fetch_add(1, std::memory_order_relaxed);
  if (ns > kLongNs) slot.longKernels.fetch_add(1, std::memory_order_relaxed);
  if (known && ns > slot.longestNs.load(std::memory_order_relaxed)) note_longest(slot, submission, ns);
}

// Microseconds, rounded up. `ns`: less than an hour.
std::uint32_t us_of(std::uint64_t ns) noexcept { return static_cast<std::uint32_t>((ns + 999) / 1000); }

bool kernel_is_new(const Submission& submission, const Estimate& estimate) noexcept {
  return submission.kind == Submission::Kind::kKernel && estimate.samples.load(std::memory_order_relaxed) < 3;
}

[[gnu::cold]] Estimate* estimate_by_name(Gpu& gpu, const LaunchShape& shape) noexcept {
  const LaunchShape named = named_shape(shape);
  return named.function ? gpu.best_effort.estimates.find(named) : nullptr;
}

// Whether the driver may load code in this launch: the first launch of a kernel, or its first in a shape. Such a launch
// is not timed.
//
// One reason is that the time would include the loading. The other one is events around such a launch: with them the
// driver apparently moved a training's stream to another of the work queues that the processes under MPS share. While
// that queue waited, the GPU kept reading host memory, which slowed the high client down (docs/results/policies.md, two
// trainings).
//
// A product has an estimate of its own although its kernel may have been launched before, so for products the kernel is
// asked.
bool loads_code(Gpu& gpu, const Submission& submission, const Estimate& estimate, bool of_product) noexcept {
  if (submission.kind != Submission::Kind::kKernel) return false;
  return of_product ? gpu.best_effort.estimates.first_launch(submission.shape->function)
                    : estimate.sightings.load(std::memory_order_relaxed) == 1;
}

void gate_submission(Gpu& gpu, Stream& stream, const Link& link, const Rules& rules, const Item& item) noexcept {
  Lane& lane = stream.lane;
  const std::uint32_t parts = gpu.best_effort.chunk_parts.load(std::memory_order_relaxed);
  const Chunk chunk{lane.chunk_us.load(std::memory_order_relaxed) * parts,
                    lane.chunk_launches.load(std::memory_order_relaxed)};
  say_waiting(link);
  if (rules.submission == protocol::Submission::kDeep && helper_runs()) {
    if (item.copy && rules.when_active != protocol::WhenActive::kWait) wait_for_bus(gpu, link, rules);
    if (lane.behind_wait.load(std::memory_order_relaxed) && !closes(rules, chunk, item)) return;
    if (spares_border(lane, chunk.launches)) return;
    if (put_border(stream, link)) return wait_for_room(gpu, stream, link, rules);
  }
  if (closes(rules, chunk, item)) put_mark(stream, link);
  wait_for_gate(gpu, link, item);
  if (takes_own_marks_only(stream)) lane.mark_behind.store(true, std::memory_order_relaxed);
}

void note_thread(Context& context) noexcept {
  const void* first = nullptr;
  const void* us = this_thread();
  if (!context.blocking_thread.compare_exchange_strong(first, us, std::memory_order_relaxed) && first != us)
    context.blocking_threads.store(true, std::memory_order_relaxed);
}

[[gnu::cold, gnu::noinline]] void mark_behind(Stream& stream) noexcept {
  const Link* link = stream.context->gpu->link.load(std::memory_order_acquire);
  if (stream.lane.mark_behind.exchange(false, std::memory_order_relaxed) && link) put_mark_behind(stream, *link);
}

}  // namespace

Admission best_effort_before(Stream& stream, const Submission& submission) noexcept {
  Gpu& gpu = *stream.context->gpu;
  Lane& lane = stream.lane;
  begin_launch(lane);
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link) return {&stream, -1};
  Region& region = *link->region;
  // After begin_launch(): who stops submissions looks at the launches in call then (parking/closing.cpp).
  Stop& stop = gpu.best_effort.stop;
  if (stop.reasons.load(std::memory_order_seq_cst) != 0) wait_while_stopped(stop);
  if (stream.blocking && !stream.context->blocking_threads.load(std::memory_order_relaxed))
    note_thread(*stream.context);

  Estimate* const general = submission.shape ? gpu.best_effort.estimates.find(*submission.shape) : submission.estimate;
  // At the kernel's second launch, because the first one is left as it is: see loads_code().
  if (general && submission.kind == Submission::Kind::kKernel &&
      general->sightings.load(std::memory_order_relaxed) == 1 && !has_open_captures())
    look_for_ranks(submission.shape->function);
  Estimate* const product = submission.shape ? product_estimate() : nullptr;
  Estimate* const estimate = product ? product : general;
  std::uint32_t learned = estimate ? estimate->expected_ns.load(std::memory_order_relaxed) : 0;
  if (learned == 0 && general) learned = general->expected_ns.load(std::memory_order_relaxed);
  const bool known = !estimate || learned > 0;
  const auto& settings = region.settings;
  const bool is_gated = is_best_effort_gated(*link);
  std::uint64_t expected_ns = estimate ? learned : submission.copy_ns;
  // All entries for kernels are in use. A kernel without one is expected to fill a chunk by itself.
  if (submission.shape && !estimate) expected_ns = std::uint64_t{rule::chunk_us(settings)} * 1000;
  // The distance of preemption points follows from what it may take.
  const std::uint64_t peak_ns = estimate ? estimate->peak_ns.load(std::memory_order_relaxed) : 0;
  std::uint32_t chunk_us = us_of(std::max(expected_ns, peak_ns));
  if (is_gated) {
    const Rules rules = read_rules(settings);
    if (!known) [[unlikely]] {
      expected_ns = std::uint64_t{rules.unknown_us} * 1000;
      chunk_us = rules.unknown_us;
    }
    if (rules.preempt_us > 0 && learned > std::uint64_t{rules.preempt_us} * 1000 &&
        submission.kind == Submission::Kind::kKernel)
      want_variant(*stream.context, submission.shape->function);
    const Needs needs = needs_count(rules) ? needs_beside(submission, gpu.identity.sm_count) : kUnknownNeeds;
    gate_submission(gpu, stream, *link, rules,
                    Item{chunk_us, known, needs.kernel_class, needs.sms, submission.bus != Bus::kNone});
  } else {
    lane.behind_wait.store(false, std::memory_order_relaxed);
  }
  const std::uint64_t typical = estimate ? estimate->typical_ns.load(std::memory_order_relaxed) : expected_ns;
  count(link->best_effort(), submission, expected_ns, typical, known);
  lane.submitted_ns.fetch_add(expected_ns, std::memory_order_relaxed);
  const std::uint64_t launches = lane.launches.fetch_add(1, std::memory_order_seq_cst);
  lane.chunk_us.fetch_add(chunk_us, std::memory_order_relaxed);
  lane.chunk_launches.fetch_add(1, std::memory_order_relaxed);
  lane.open.store(true, std::memory_order_release);  // after the count: next_mark()
  if (chunk_log::is_on()) chunk_log::note_launch(stream, submission, expected_ns);

  // In a stream that stands still, each entry that is added here takes a place in the driver's queue from the program. A kernel
  // whose length nobody knows may be the reason, so it is timed while there is room.
  if (!estimate || (stands_still(lane) && is_crowded(lane))) return {&stream, -1};
  const auto& page = link->hold_page();
  const std::uint64_t activations = page.activations.load(std::memory_order_relaxed);
  const cu::CUcontext context = stream.context->handle.load(std::memory_order_relaxed);
  if (!known || (product && product->samples.load(std::memory_order_relaxed) < 3) || launches % kCollectEvery == 0)
    gpu.best_effort.estimates.collect(activations, page.active.load(std::memory_order_relaxed) != 0, context);
  const std::uint32_t every = rule::sample_every(settings);
  if (!Estimates::due(*estimate, every) || loads_code(gpu, submission, *estimate, product != nullptr))
    return {&stream, -1};
  Estimate* const by_name = kernel_is_new(submission, *estimate) ? estimate_by_name(gpu, *submission.shape) : nullptr;
  return {&stream, gpu.best_effort.estimates.start(*estimate, stream.handle, context, activations, general, by_name)};
}

void best_effort_after(const Admission& admission) noexcept {
  if (admission.timer >= 0)
    admission.stream->context->gpu->best_effort.estimates.stop(admission.timer, admission.stream->handle);
  if (admission.stream->lane.mark_behind.load(std::memory_order_relaxed)) [[unlikely]]
    mark_behind(*admission.stream);
  admission.stream->lane.launches_in_call.fetch_sub(1, std::memory_order_release);
}

}  // namespace cotenant
