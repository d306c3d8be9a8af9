// Generated from src/protocol/gate.ts by `npm run update`. Do not edit.
#pragma once

#include <cstdint>
#include <cstring>

namespace cotenant {

enum class Answer : std::uint32_t {
  kRun = 0,  // go ahead
  kProgress = 1,  // go ahead with one chunk: the pause has lasted too long, or one is due beside the request
  kHeldByHigh = 2,  // a request is active (or ended less than the resume delay ago)
  kPaused = 3,  // the agent paused best-effort work
  kNotMyTurn = 4,  // another best-effort client has the GPU
  kAheadFull = 5,  // queued-ahead work, or the budget, is used up
  kPaced = 6,  // the next launch is not due yet
};

enum class TurnAction : std::uint32_t {
  kKeep = 0,
  kGive = 1,  // set the own word, give the turn to `to`, and clear that client's word unless a request is active
  kTake = 2,  // from `view.turn`, unless another client takes it first
};

enum class HoldAction : std::uint32_t {
  kLeave = 0,
  kOpen = 1,  // clear the word, unless a request holds best-effort work
  kClose = 2,  // set the word, then check again, because another process may have checked just before
  kChunk = 3,  // clear the word even if best-effort work is held: one chunk passes
  kStand = 4,  // set the word for a moment although nothing holds, to renew the time slice
};

enum class NextLook : std::uint32_t {
  kNap = 0,  // asleep
  kBorder = 1,  // on the CPU; sooner if `far` changes
  kMoment = 2,  // on the CPU, because the GPU stands idle meanwhile
};

enum class KernelClass : std::uint32_t {
  kUnknown = 0,
  kCompute = 1,
  kMemory = 2,
};

// The view of a best-effort client at one moment.
struct GateView {
  bool high_registered{};
  bool high_active{};
  KernelClass high_class{};  // class of the latest high kernel
  std::uint64_t idle_us{};  // since the end of the last request
  bool my_turn{};  // true also if nobody else wants the GPU
  std::uint64_t held_us{};  // how long this pause has lasted
  std::uint64_t progressed_us{};  // since the last minimum progress in this pause
  std::uint64_t ahead_us{};  // time of released work not known to be finished, over all best-effort clients
  std::uint32_t kernels_out{};
  std::uint32_t high_leaves_sms{};  // SMs that the latest high kernel does not need; 0: none, or unknown
  std::uint64_t high_left_us{};  // expected time until that kernel ends; 0: unknown
  std::uint64_t spent_us{};  // the spent part of the budget: see spent_after()
  std::uint64_t early_ns{};  // until the next launch is due: see due_after()
  bool mid_iteration{};  // earlier work of this item's iteration was submitted
  bool high_copying{};  // a copy of an active high client crosses PCIe now
  std::uint64_t active_us{};  // if high_active: since the oldest active request began
};

// One launch, copy or graph about to be submitted.
struct Item {
  std::uint32_t expected_us{};
  bool known{};  // false: expected_us is the parameter table's guess
  KernelClass kernel_class{};
  std::uint32_t sms{};  // SMs it needs; 0: unknown, taken as all
  bool copy{};  // it crosses PCIe
};

// The work since the last border.
struct Chunk {
  std::uint32_t expected_us{};
  std::uint32_t launches{};
};

// The view of the helper thread at one poll.
struct HoldView {
  std::uint64_t now_ns{};
  std::uint32_t slot{};  // of this client
  bool held{};  // its pause flag is not 0
  std::uint64_t launches_out{};  // submitted by this client and not known finished, in streams that move
  std::uint64_t out_ns{};  // the same as time
  bool stands{};  // work is in streams that stand still, because the GPU waits for the program there
  std::uint32_t callers_waiting{};  // threads of the program that are blocked because its work is held
  std::uint64_t far{};  // changes when the GPU passes a border of the client, or a gate in a graph
  bool stops_inside{};  // a launch is out that stops inside if the word is set, where no mark tells it
  std::uint64_t progressed_ns{};  // since this client's last minimum progress began; if there was none, a very long time
  std::uint32_t waiting{};  // a bit per slot of the GPU's best-effort clients: it has work to run
  std::uint32_t turn{};  // the slot whose turn it is
  std::uint64_t turn_ns{};  // how long it has been
  GateView seen{};  // for release(); held_us and progressed_us are computed here
};

// The decision of a poll about the turn.
struct TurnDecision {
  TurnAction action{};
  std::uint32_t to{};  // with give
};

// The decision of a poll about the word.
struct HoldDecision {
  HoldAction action{};
  NextLook next{};  // how to wait for the next poll
  std::uint64_t again_ns{};  // the time until the next poll
  bool waiting{};  // the client's bit in `waiting`
  bool progresses{};  // minimum progress, or a chunk concurrent with a request, begins: note the time
  bool counts{};  // it is minimum progress: count it
  bool look_for_absent{};  // the pause is so long that its cause may have died
  std::uint64_t empty_ns{};  // of the time since the last poll: the client had no work
  std::uint64_t turn_ns{};  // of that time: it waited for its turn
  std::uint64_t held_ns{};  // of that time: it was held by a request or paused by the agent
  std::uint64_t released_ns{};  // its queued-ahead work now
};

// Values of blocks of doubles. A time that is longer than any here stands for one that never was.
[[nodiscard]] inline std::uint64_t block_count(double value) noexcept {
  constexpr double kLong = 1ull << 52;
  return static_cast<std::uint64_t>(value < 0 ? 0 : value < kLong ? value : kLong);
}
[[nodiscard]] inline std::uint32_t block_word(double value) noexcept {
  return static_cast<std::uint32_t>(block_count(value));
}

[[nodiscard]] inline GateView gate_view_from(const double* from) noexcept {
  return GateView{
      from[0] != 0,
      from[1] != 0,
      static_cast<KernelClass>(block_word(from[2])),
      block_count(from[3]),
      from[4] != 0,
      block_count(from[5]),
      block_count(from[6]),
      block_count(from[7]),
      block_word(from[8]),
      block_word(from[9]),
      block_count(from[10]),
      block_count(from[11]),
      block_count(from[12]),
      from[13] != 0,
      from[14] != 0,
      block_count(from[15]),
  };
}

[[nodiscard]] inline Item item_from(const double* from) noexcept {
  return Item{
      block_word(from[0]),
      from[1] != 0,
      static_cast<KernelClass>(block_word(from[2])),
      block_word(from[3]),
      from[4] != 0,
  };
}

[[nodiscard]] inline Chunk chunk_from(const double* from) noexcept {
  return Chunk{
      block_word(from[0]),
      block_word(from[1]),
  };
}

[[nodiscard]] inline HoldView hold_view_from(const double* from) noexcept {
  return HoldView{
      block_count(from[0]),
      block_word(from[1]),
      from[2] != 0,
      block_count(from[3]),
      block_count(from[4]),
      from[5] != 0,
      block_word(from[6]),
      block_count(from[7]),
      from[8] != 0,
      block_count(from[9]),
      block_word(from[10]),
      block_word(from[11]),
      block_count(from[12]),
      gate_view_from(from + 13),
  };
}

// The input, output and state of cotenant_hold.
struct HoldBlock {
  double view[29];
  double decision[13];
  double state[12];  // the bytes of a HoldState, kept between the calls
};

inline void put_decision(const TurnDecision& turn, const HoldDecision& hold, HoldBlock& block) noexcept {
  const double fields[] = {
      static_cast<double>(turn.action),
      static_cast<double>(turn.to),
      static_cast<double>(hold.action),
      static_cast<double>(hold.next),
      static_cast<double>(hold.again_ns),
      static_cast<double>(hold.waiting),
      static_cast<double>(hold.progresses),
      static_cast<double>(hold.counts),
      static_cast<double>(hold.look_for_absent),
      static_cast<double>(hold.empty_ns),
      static_cast<double>(hold.turn_ns),
      static_cast<double>(hold.held_ns),
      static_cast<double>(hold.released_ns),
  };
  static_assert(sizeof fields == sizeof block.decision);
  std::memcpy(block.decision, fields, sizeof fields);
}

}  // namespace cotenant
