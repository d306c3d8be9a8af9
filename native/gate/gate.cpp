#include "gate/gate.h"

namespace cotenant {
namespace {

std::uint32_t load(const std::atomic<std::uint32_t>& word) noexcept {
  return word.load(std::memory_order_relaxed);
}

std::uint32_t clamp(std::uint32_t value, std::uint32_t low, std::uint32_t high) noexcept {
  return value < low ? low : value > high ? high : value;
}

bool opposite(KernelClass a, KernelClass b) noexcept {
  // "Unknown" waives the class test only (Orion, section 5: it is never the reason to refuse).
  return a == KernelClass::kUnknown || b == KernelClass::kUnknown || a != b;
}

// Is this item allowed beside an active request?
bool allowed_beside(const Rules& rules, const Seen& seen, const Item& item) noexcept {
  switch (rules.when_active) {
    case protocol::WhenActive::kWait:
      return false;
    case protocol::WhenActive::kAllow:
      return true;
    case protocol::WhenActive::kAllowOpposite:
      return item.sms != 0 && item.sms < rules.sm_limit && item.expected_us <= rules.max_kernel_us &&
             opposite(item.kernel_class, seen.high_class);
  }
  return false;
}

Answer or_trickle(const Rules& rules, const Seen& seen, Answer reason) noexcept {
  const bool due = seen.held_us >= rules.trickle_after_us && seen.trickled_us >= rules.trickle_every_us;
  return due ? Answer::kTrickle : reason;
}

bool resting(const Rules& rules, const Seen& seen) noexcept {
  return rules.resume_delay_us > 0 && seen.idle_us < rules.resume_delay_us;
}

}  // namespace

Rules read_rules(const protocol::Settings& s) noexcept {
  Rules r{};
  r.protect = load(s.protect) != 0;
  r.isolated = load(s.isolated) != 0;
  r.paused = load(s.paused) != 0;
  r.when_active = static_cast<protocol::WhenActive>(clamp(load(s.whenActive), 0, 2));
  r.sm_limit = load(s.smLimit);
  r.max_kernel_us = load(s.maxKernelUs);
  r.chunk_us = clamp(load(s.chunkUs), 20, 20'000);
  r.chunk_launches = clamp(load(s.chunkLaunches), 1, 128);
  r.active_ahead_us = clamp(load(s.activeAheadUs), 0, 20'000);
  r.submit_us = clamp(load(s.submitUs), 100, 100'000);
  // A driver queue holds 1,020 entries behind a wait (docs/measured-on-h200.md); borders take some of them.
  r.submit_launches = clamp(load(s.submitLaunches), 1, 800);
  r.kernels_out = load(s.kernelsOut);
  r.resume_delay_us = clamp(load(s.resumeDelayUs), 0, 100'000);
  r.turn_us = clamp(load(s.turnUs), 500, 1'000'000);
  r.trickle_after_us = clamp(load(s.trickleAfterUs), 1'000, 1'000'000);
  r.trickle_every_us = clamp(load(s.trickleEveryUs), 1'000, 1'000'000);
  r.unknown_us = clamp(load(s.unknownUs), 1, 100'000);
  r.submission = load(s.submission) == 1 ? protocol::Submission::kLaunch : protocol::Submission::kDeep;
  r.sample_every = clamp(load(s.sampleEvery), 1, 1'000'000);
  r.copy_piece_bytes = clamp(load(s.copyPieceBytes), 64 << 10, 1u << 30);
  return r;
}

Answer release(const Rules& rules, const Seen& seen) noexcept {
  if (rules.paused) return or_trickle(rules, seen, Answer::kPaused);
  if (!rules.protect || !seen.high_registered) return Answer::kRun;
  // Finer permissions than "wait" are given launch by launch, in admit().
  const bool held = seen.high_active ? rules.when_active == protocol::WhenActive::kWait : resting(rules, seen);
  if (held) return or_trickle(rules, seen, Answer::kHeldByHigh);
  if (rules.isolated && !seen.my_turn) return or_trickle(rules, seen, Answer::kNotMyTurn);
  return Answer::kRun;
}

Answer admit(const Rules& rules, const Seen& seen, const Item& item) noexcept {
  const Answer general = release(rules, seen);
  if (general != Answer::kRun) return general;
  if (!rules.protect || !seen.high_registered) return Answer::kRun;
  if (seen.high_active && !allowed_beside(rules, seen, item))
    return or_trickle(rules, seen, Answer::kHeldByHigh);
  if (rules.kernels_out > 0 && seen.kernels_out >= rules.kernels_out) return Answer::kAheadFull;
  // Something must be able to run, however long: a launch always goes when nothing is outstanding.
  if (seen.ahead_us == 0) return Answer::kRun;
  if (!item.known) return Answer::kAheadFull;
  const std::uint64_t limit = seen.high_active ? rules.active_ahead_us : rules.chunk_us;
  return seen.ahead_us + item.expected_us <= limit ? Answer::kRun : Answer::kAheadFull;
}

bool closes(const Rules& rules, const Chunk& chunk, const Item& item) noexcept {
  if (chunk.launches == 0) return false;
  if (chunk.launches >= rules.chunk_launches || !item.known) return true;
  return std::uint64_t{chunk.expected_us} + item.expected_us > rules.chunk_us;
}

}  // namespace cotenant
