#include "interposer/gangs/decider.h"

#include <algorithm>

#include "interposer/base/table.h"

namespace cotenant::gangs {
namespace {

// Two looks at the same ranks are farther apart only if this thread lost its CPU, and what happened meanwhile is unknown.
constexpr std::uint64_t kLongestRoundNs = 50'000'000;

const Operation& operation_of(const Block& block, std::uint32_t rank, std::uint32_t place) noexcept {
  return block.rank[rank].operations[place];
}

std::uint32_t parts_of(const Operation& operation) noexcept {
  return std::min(operation.parts.load(std::memory_order_relaxed), kParts);
}

bool has_arrived(const Rank& rank, std::uint32_t place, std::uint32_t ticket) noexcept {
  const std::uint32_t streams = std::min(rank.operations[place].streams.load(std::memory_order_relaxed), kStreams);
  for (std::uint32_t i = 0; i < streams; ++i)
    if (rank.progress.arrived[place][i].load(std::memory_order_acquire) != ticket) return false;
  return true;
}

bool is_same(const Part& a, const Part& b) noexcept {
  return a.lane.load(std::memory_order_relaxed) == b.lane.load(std::memory_order_relaxed) &&
         a.number.load(std::memory_order_relaxed) == b.number.load(std::memory_order_relaxed);
}

bool has_part(const Operation& operation, const Part& part) noexcept {
  for (std::uint32_t i = 0; i < parts_of(operation); ++i)
    if (is_same(operation.part[i], part)) return true;
  return false;
}

bool shares_part(const Operation& a, const Operation& b) noexcept {
  for (std::uint32_t i = 0; i < parts_of(a); ++i)
    if (has_part(b, a.part[i])) return true;
  return false;
}

// The lane's entry; null: it has none, or with `add` the table is full.
LetGo* entry_of(Block& block, std::uint64_t lane, bool add) noexcept {
  LetGo* found = nullptr;
  probe(lane, kLetGo, [&](std::size_t at) {
    LetGo& entry = block.let_go[at];
    std::uint64_t key = entry.key.load(std::memory_order_acquire);
    if (key == 0 && !add) return true;
    if (key == 0) entry.key.store(key = lane, std::memory_order_release);
    if (key != lane) return false;
    found = &entry;
    return true;
  });
  return found;
}

bool was_let_go(Block& block, const Part& part) noexcept {
  const LetGo* entry = entry_of(block, part.lane.load(std::memory_order_relaxed), false);
  return entry && part.number.load(std::memory_order_relaxed) <= entry->number.load(std::memory_order_relaxed);
}

}  // namespace

bool Decider::decide(Block& block, const Surroundings& now) noexcept {
  collect(block, now);
  follow_let_go(block);
  for (std::uint32_t i = 0; i < count_; ++i) pending_[i].complete = pending_[i].arrived && !pending_[i].goes;
  settle(block, &Pending::complete);
  for (std::uint32_t i = 0; i < count_; ++i) pending_[i].ready = pending_[i].complete && !now.paused[pending_[i].rank];
  settle(block, &Pending::ready);
  commit_ready(block);
  commit_for_progress(block, now);
  count_timeouts(block, now);
  last_ns_ = now.now_ns;
  return count_ > 0;
}

// Operations that were launched and are not committed. The launch order of a rank is kept. Nothing of a rank that has died
// is committed, because its members' kernels would spin.
void Decider::collect(Block& block, const Surroundings& now) noexcept {
  count_ = 0;
  for (std::uint32_t number = 0; number < kRanks; ++number) {
    const Rank& rank = block.rank[number];
    if (!now.lives[number]) continue;
    const std::uint32_t last = rank.launched.load(std::memory_order_acquire);
    std::uint32_t& first = first_[number];
    if (first == 0) first = last > kOperations ? last - kOperations + 1 : 1;
    for (std::uint32_t ticket = first; ticket <= last && count_ < kPending; ++ticket) {
      const std::uint32_t place = ticket % kOperations;
      const bool filled = rank.operations[place].ticket.load(std::memory_order_acquire) >= ticket;
      const bool committed = rank.commits.committed[place].load(std::memory_order_relaxed) >= ticket;
      if (committed && ticket == first) ++first;
      if (committed || !filled) continue;
      pending_[count_++] = {number, place, ticket, has_arrived(rank, place, ticket), false, false, false};
      Waiting& waiting = waiting_[number][place];
      if (waiting.ticket != ticket) waiting = {ticket, 0, 0};
    }
  }
}

// Operations remain of which each part has all its members among those that remain. So what a group joins is one.
void Decider::settle(Block& block, bool Pending::* kept) noexcept {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (!(pending_[i].*kept)) continue;
      const Operation& own = operation_of(block, pending_[i].rank, pending_[i].place);
      for (std::uint32_t part = 0; part < parts_of(own) && pending_[i].*kept; ++part) {
        std::uint32_t members = 0;
        for (std::uint32_t j = 0; j < count_; ++j)
          if (pending_[j].*kept && has_part(operation_of(block, pending_[j].rank, pending_[j].place), own.part[part]))
            ++members;
        if (members >= own.part[part].members.load(std::memory_order_relaxed)) continue;
        pending_[i].*kept = false;
        changed = true;
      }
    }
  }
}

void Decider::commit(Block& block, Pending& one) noexcept {
  Rank& rank = block.rank[one.rank];
  one.goes = true;
  rank.commits.committed[one.place].store(one.ticket, std::memory_order_release);
  rank.committed.fetch_add(1, std::memory_order_release);
}

// "is committed": all members have arrived, and none is paused.
void Decider::commit_ready(Block& block) noexcept {
  for (std::uint32_t i = 0; i < count_; ++i)
    if (pending_[i].ready) commit(block, pending_[i]);
}

// Minimum progress of a gang: the services of its GPUs may be active in turn for ever.
void Decider::commit_for_progress(Block& block, const Surroundings& now) noexcept {
  for (std::uint32_t i = 0; i < count_; ++i) {
    Pending& one = pending_[i];
    Waiting& waiting = waiting_[one.rank][one.place];
    if (one.goes || !one.complete) continue;
    if (waiting.complete_ns == 0) waiting.complete_ns = now.now_ns;
    if (now.now_ns - waiting.complete_ns < now.progress_ns) continue;
    commit_with_members(block, i);
  }
}

void Decider::commit_with_members(Block& block, std::uint32_t first) noexcept {
  block.rank[pending_[first].rank].min_progress.fetch_add(1, std::memory_order_relaxed);
  commit(block, pending_[first]);
  const Operation& own = operation_of(block, pending_[first].rank, pending_[first].place);
  for (std::uint32_t i = 0; i < count_; ++i)
    if (!pending_[i].goes && pending_[i].complete &&
        shares_part(own, operation_of(block, pending_[i].rank, pending_[i].place)))
      commit_with_members(block, i);
}

// A member that launches its part after the others were let go follows at once, or they would spin.
void Decider::follow_let_go(Block& block) noexcept {
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Operation& own = operation_of(block, pending_[i].rank, pending_[i].place);
    for (std::uint32_t part = 0; part < parts_of(own) && !pending_[i].goes; ++part)
      if (was_let_go(block, own.part[part])) let_go(block, i);
  }
}

// "is let go". The time counts only while no rank is paused, and never after a death.
void Decider::count_timeouts(Block& block, const Surroundings& now) noexcept {
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    if ((block.rank[rank].pid.load(std::memory_order_relaxed) != 0 && !now.lives[rank]) || now.paused[rank]) return;
  const std::uint64_t since = last_ns_ ? std::min(now.now_ns - last_ns_, kLongestRoundNs) : 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    Pending& one = pending_[i];
    Waiting& waiting = waiting_[one.rank][one.place];
    if (one.goes || !one.arrived || one.complete) continue;
    waiting.incomplete_ns += since;
    if (waiting.incomplete_ns < now.timeout_ns) continue;
    block.rank[one.rank].timed_out.fetch_add(1, std::memory_order_relaxed);
    let_go(block, i);
  }
}

// This operation, all that its members launched before it, and so on.
void Decider::let_go(Block& block, std::uint32_t first) noexcept {
  Pending& own = pending_[first];
  if (own.goes) return;
  Operation& operation = block.rank[own.rank].operations[own.place];
  for (std::uint32_t i = 0; i < parts_of(operation); ++i)
    if (LetGo* entry = entry_of(block, operation.part[i].lane.load(std::memory_order_relaxed), true))
      entry->number.store(std::max(entry->number.load(std::memory_order_relaxed),
                                   operation.part[i].number.load(std::memory_order_relaxed)),
                          std::memory_order_relaxed);
  operation.let_go.store(own.ticket, std::memory_order_release);
  commit(block, own);
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Pending& other = pending_[i];
    const bool before = other.rank == own.rank && other.ticket < own.ticket;
    if (before || shares_part(operation, operation_of(block, other.rank, other.place))) let_go(block, i);
  }
}

}  // namespace cotenant::gangs
