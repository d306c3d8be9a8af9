// Decides which operations of a gang begin. One thread of one rank decides for all; lab/gangs/protocol.ts is what it does,
// as a model whose states are all visited. The names of its steps are in the comments here.
#pragma once

#include "interposer/gangs/block.h"

namespace cotenant::gangs {

// A round of decisions depends on this, beside the block.
struct Surroundings {
  std::uint64_t now_ns;
  bool paused[kRanks];  // the rank's best-effort work is paused now
  bool lives[kRanks];
  std::uint64_t timeout_ns;  // an operation waits for its members no longer, while no rank is paused
  std::uint64_t progress_ns;  // all members have arrived: it waits for pauses no longer
};

class Decider {
 public:
  // Returns whether operations are waiting.
  bool decide(Block& block, const Surroundings& now) noexcept;

 private:
  struct Waiting {
    std::uint32_t ticket;
    std::uint64_t complete_ns;  // when all its members had arrived; 0: they have not
    std::uint64_t incomplete_ns;  // how long it has waited for them
  };
  struct Pending {
    std::uint32_t rank;
    std::uint32_t place;
    std::uint32_t ticket;
    bool arrived;
    bool complete;
    bool ready;  // complete, and none of its members is paused
    bool goes;
  };
  static constexpr std::uint32_t kPending = 512;

  void collect(Block& block, const Surroundings& now) noexcept;
  void settle(Block& block, bool Pending::* kept) noexcept;
  void commit(Block& block, Pending& one) noexcept;
  void commit_ready(Block& block) noexcept;
  void commit_for_progress(Block& block, const Surroundings& now) noexcept;
  void commit_with_members(Block& block, std::uint32_t first) noexcept;
  void follow_let_go(Block& block) noexcept;
  void count_timeouts(Block& block, const Surroundings& now) noexcept;
  void let_go(Block& block, std::uint32_t first) noexcept;

  std::uint32_t first_[kRanks]{};  // all tickets before it are committed
  std::uint64_t last_ns_{0};
  std::uint32_t count_{0};
  Pending pending_[kPending];
  Waiting waiting_[kRanks][kOperations]{};
};

}  // namespace cotenant::gangs
