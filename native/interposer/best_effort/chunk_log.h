// A diary of one best-effort client, for finding out why a request was slow (bench/live/slow_bursts.py): what was put
// between which borders, and when the GPU passed them, holds changed and bursts began and ended. COTENANT_CHUNKS=PATH asks for
// it; PATH.PID is a file of records as they are in memory, PATH.PID.names says what functions are called. A thread of its own
// watches shared memory without a pause, so it takes a CPU. Without it a launch pays one comparison.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/state/gpu.h"
#include "interposer/state/submission.h"

namespace cotenant::chunk_log {

enum class What : std::uint16_t {
  kLaunch = 1,  // key: function, or 0; number: kind of submission; expected_ns
  kBorder = 2,  // number: of the border; key: 1 if it waits for the hold word
  kDrained = 3,  // the application saw the stream empty
  kMark = 4,  // number: the last border that the GPU has passed
  kHold = 5,  // number: the hold word
  kBurst = 6,  // number: 1 begins, 0 ends; key: when it began, ns; expected_ns: a chunk under the rules in force
  kActive = 7,  // number: who is active, or has announced a request
  kBlind = 8,  // key: when the watching thread looked before, ns: it was away for longer than it should
};

// Times are monotonic ns.
struct Record {
  What what;
  std::uint16_t client;  // kBurst: the high slot
  std::uint32_t stream;
  std::uint64_t at_ns;
  std::uint64_t key;
  std::uint32_t number;
  std::uint32_t expected_ns;
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint32_t unused[2];
};
static_assert(sizeof(Record) == 64);

// The file begins with one record's room for this.
struct Header {
  char magic[8];
  std::uint32_t record_bytes;
  std::uint32_t most;
  std::atomic<std::uint64_t> used;  // past `most` nothing is kept
};

extern std::atomic<Header*> log;

// Where the environment asks for it. Says so on stderr if it can't.
void start(Gpu& gpu) noexcept;
void forget() noexcept;  // in a forked child

[[gnu::cold]] void note_launch(const Stream& stream, const Submission& submission, std::uint64_t expected_ns) noexcept;
void note(const Stream& stream, What what, std::uint32_t number, std::uint64_t key) noexcept;

[[nodiscard]] inline bool is_on() noexcept { return log.load(std::memory_order_relaxed) != nullptr; }

}  // namespace cotenant::chunk_log
