#include "interposer/lifetime/helper.h"

#include <sys/prctl.h>

#include <algorithm>

#include "interposer/agent/knock.h"
#include "interposer/agent/link.h"
#include "interposer/base/clock.h"
#include "interposer/base/thread.h"
#include "interposer/best_effort/hold_word.h"
#include "interposer/best_effort/tick.h"
#include "interposer/high/holding.h"
#include "interposer/high/job.h"
#include "interposer/high/tail.h"
#include "interposer/lifetime/attachment.h"
#include "interposer/lifetime/departure.h"
#include "interposer/lookup/unhooked.h"
#include "interposer/parking/parking.h"
#include "interposer/process/helper_state.h"
#include "interposer/quota/quota.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

constexpr std::uint32_t kLatestUs = 10'000;
constexpr std::uint64_t kLinkEveryNs = 200'000'000;
constexpr std::uint64_t kDescriptorsEveryNs = 10'000'000;
constexpr std::uint64_t kKnockEveryNs = 1'000'000'000;  // where no agent has ever answered, or none had a slot

// The link of a best-effort client changes: the work queued behind the old pause flag must run.
void adopt(Gpu& gpu, Link* fresh) noexcept {
  Link* before = gpu.link.load(std::memory_order_relaxed);
  if (role() == Role::kBestEffort) {
    best_effort_enter(*fresh);
    fresh->before = before;
  }
  gpu.link.store(fresh, std::memory_order_release);
  if (role() == Role::kHigh) high_republish(gpu);
  if (fresh->attached && gpu.awaited.exchange(false, std::memory_order_acquire))
    tell("the agent has answered: this %s.",
         role() == Role::kHigh ? "high client is protected now" : "best-effort client has its slot now");
}

// Null: there is no memory for a link. The process waits on, because it would run there unheld, and it is tried again.
void arrive(Gpu& gpu, Link* fresh) noexcept {
  if (fresh) adopt(gpu, fresh);
  gpu.moved.store(fresh ? Moved::kNo : Moved::kAsked, std::memory_order_release);
}
void arrive_without_agent(Gpu& gpu, const char* why) noexcept {
  tell(
      "this process has moved to another GPU, where it has no slot (%s): it runs at minimum progress until it has one.",
      why);
  arrive(gpu, private_link());
}

void tell_lost_descriptors() noexcept {
  static std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  tell(
      "this program has closed descriptors that it did not open, among them the connection to the agent, as "
      "closefrom(3) does. %s until the agent has given it a slot again. Close them before CUDA is used, or only the "
      "program's own.",
      role() == Role::kHigh ? "It keeps its former slot" : "It runs at minimum progress");
}

// The agent takes a closed connection for the end of the client: no service holds a best-effort client any more, and its
// slot is free for another one. So a best-effort client runs at the rate of minimum progress until it is attached again. A high client goes on
// with what it has mapped, and keep_link() attaches it again.
void replace_lost_link(Gpu& gpu, std::uint64_t now) noexcept {
  if (now - gpu.descriptors_seen < kDescriptorsEveryNs) return;
  gpu.descriptors_seen = now;
  const Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link || !lost_descriptors(*link)) return;
  tell_lost_descriptors();
  if (role() == Role::kHigh || gpu.moved.load(std::memory_order_relaxed) != Moved::kNo) return;
  Link* alone = private_link();
  if (!alone) return;  // there is no memory for one now
  alone->memory_quota = link->memory_quota;
  if (link->attached) parking_lost_agent();
  adopt(gpu, alone);
  forget(gpu.knock);
  gpu.knocked = now;
  (void)knock_for(gpu.knock, gpu.identity, nullptr);
}

// Nothing here waits for the agent, because an agent that accepts and never answers would keep holds from being
// cleared.
void keep_link(Gpu& gpu) noexcept {
  Link* link = gpu.link.load(std::memory_order_acquire);
  if (link) {
    auto& count = role() == Role::kHigh ? link->high().unhooked : link->best_effort().unhooked;
    count.store(unhooked_calls(), std::memory_order_relaxed);
    auto& known = role() == Role::kHigh ? link->high().caveats : link->best_effort().caveats;
    known.store(caveats(), std::memory_order_relaxed);
    quota_publish();
  }
  // A client whose memory does not move has no thread for it before the agent asks for the first time.
  if (link && role() == Role::kBestEffort && link->memory().parkAsked.load(std::memory_order_relaxed) != 0)
    start_parking();
  if (gpu.knock.under_way) return;
  const bool attached = link && link->attached;
  if (attached && !hung_up(*link)) return;
  if (attached) parking_lost_agent();
  // A best-effort process without a link only queries this GPU, or one of its threads is attaching.
  if (!link && role() == Role::kBestEffort) return;
  if (gpu.identity.holds_only() && !gpu.wanted) return;
  const std::uint64_t now = now_ns();
  if (!attached && now - gpu.knocked < kKnockEveryNs) return;
  gpu.knocked = now;
  const Link* former = attached && !lost_descriptors(*link) ? link : nullptr;
  (void)knock_for(gpu.knock, gpu.identity, former);  // tried again in a while
}

// The process has moved to another GPU, whose place it has taken. Its calls wait until this has given it a link there. Without an
// agent there it goes on as one that never had an agent.
void follow_move(Gpu& gpu) noexcept {
  if (gpu.moved.load(std::memory_order_acquire) != Moved::kAsked) return;
  if (gpu.knock.under_way) forget(gpu.knock);
  const Uuid from = gpu.identity.uuid;
  for (std::uint32_t i = 0; i < gpu_count(); ++i)
    if (gpu_at(i).identity.uuid == gpu.moves_to) gpu_at(i).identity.uuid = from;
  gpu.identity.uuid = gpu.moves_to;
  if (Link* link = gpu.link.load(std::memory_order_acquire)) hang_up(*link);
  const bool asked = knock_for(gpu.knock, gpu.identity, nullptr, kKnockMs);
  gpu.moved.store(Moved::kKnocks, std::memory_order_release);
  if (!asked) arrive_without_agent(gpu, gpu.knock.busy ? "the agent is busy" : "no agent listens");
}

// Best-effort clients that have come since are held, too, before the agent lets them begin.
void hear_of_new_clients(Gpu& gpu, std::uint64_t now) noexcept {
  Link* link = gpu.link.load(std::memory_order_acquire);
  if (!link || !map_new_holds(*link)) return;
  high_share(gpu, now);
  confirm_holds(*link);
}

void hear_agent(Gpu& gpu) noexcept {
  if (!gpu.knock.under_way) return;
  const bool moves = gpu.moved.load(std::memory_order_relaxed) == Moved::kKnocks;
  const Heard heard = hear(gpu.knock);
  if (moves && heard == Heard::kFailed) arrive_without_agent(gpu, "the agent does not answer");
  if (heard != Heard::kWelcome) return;
  if (gpu.knock.kind == protocol::HelloKind::kReattach) {
    // The agent is busy: the client still has its slot, and asks for it again.
    if (gpu.knock.welcome.status == static_cast<std::uint32_t>(protocol::WelcomeStatus::kLater))
      return forget(gpu.knock);
    Link* link = gpu.link.load(std::memory_order_acquire);
    if (!reattached_by(gpu.knock, *link)) (void)knock_for(gpu.knock, gpu.identity, nullptr);
    else if (role() == Role::kHigh) confirm_holds(*link);
    return;
  }
  const Attachment fresh = attached_by(gpu.knock);
  const bool attached = fresh.outcome == AttachOutcome::kAttached;
  if (moves && !attached) arrive_without_agent(gpu, fresh.reason);
  else if (moves) arrive(gpu, fresh.link);
  else if (attached) adopt(gpu, fresh.link);
  else if (!gpu.identity.holds_only()) tell_without_slot(fresh);  // the agent names it after a while, or not at all
}

void* run(void*) {
  prctl(PR_SET_TIMERSLACK, 1'000ul);  // ns: the kernel's 50 us would double the shortest naps
  std::uint64_t links_seen = now_ns();
  for (;;) {
    std::uint32_t nap = kLatestUs;
    const std::uint32_t heard = helper_wakes();
    const std::uint64_t now = now_ns();
    const bool links_due = now - links_seen >= kLinkEveryNs;
    if (links_due) links_seen = now;
    if (links_due) name_unhooked();
    if (links_due && role() == Role::kHigh) follow_job(now);
    for (std::uint32_t i = 0; i < gpu_count(); ++i) {
      Gpu& gpu = gpu_at(i);
      if (role() == Role::kHigh) hear_of_new_clients(gpu, now);
      nap = std::min(nap, role() == Role::kHigh ? high_tick(gpu, now) : best_effort_tick(gpu, now));
      if (role() == Role::kBestEffort) best_effort_open_former(gpu);
      follow_move(gpu);
      replace_lost_link(gpu, now);
      hear_agent(gpu);
      if (links_due) keep_link(gpu);
    }
    if (const int signal = leaving_signal()) leave(signal);
    nap_unless_woken(heard, nap);
  }
}

}  // namespace

void start_helper() noexcept {
  if (set_helper_runs(true)) return;
  if (start_thread(run)) watch_for_leaving();
  else set_helper_runs(false);
}

void forget_helper() noexcept {
  if (set_helper_runs(false)) stop_watching();
}

}  // namespace cotenant
