// A diary of one best-effort client that shows why a request was slow (bench/live/slow_bursts.py): which work was put
// between which preemption points, when the GPU passed them, when holds changed, and when bursts began and ended.
//
// COTENANT_CHUNKS=PATH turns it on. PATH.PID contains the records as they are in memory, PATH.PID.names the names of
// functions. A separate thread polls shared memory and takes a whole CPU. When it is off, a launch pays one comparison.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/state/gpu.h"
#include "interposer/state/submission.h"

namespace cotenant::chunk_log {

enum class What : std::uint16_t {
  kLaunch = 1,  // key: function, or 0; number: kind of submission; expected_ns
  kBorder = 2,  // number: of the preemption point; key: 1 if it waits for the pause flag
  kDrained = 3,  // the application saw the stream empty
  kMark = 4,  // number: the last preemption point that the GPU has passed
  kHold = 5,  // number: the pause flag
  kBurst = 6,  // number: 1 begins, 0 ends; key: when it began, ns; expected_ns: a chunk under the rules in force
  kActive = 7,  // number: who is active, or has announced a request
  kBlind = 8,  // key: time of the watching thread's previous look, ns: it lost its CPU in between
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

// The file begins with this header, which has the size of one record.
struct Header {
  char magic[8];
  std::uint32_t record_bytes;
  std::uint32_t most;
  std::atomic<std::uint64_t> used;  // records beyond `most` are dropped
};

extern std::atomic<Header*> log;

// Starts the diary if the environment asks for it. Reports on stderr if that fails.
void start(Gpu& gpu) noexcept;
void forget() noexcept;  // in a forked child

[[gnu::cold]] void note_launch(const Stream& stream, const Submission& submission, std::uint64_t expected_ns) noexcept;
void note(const Stream& stream, What what, std::uint32_t number, std::uint64_t key) noexcept;

[[nodiscard]] inline bool is_on() noexcept { return log.load(std::memory_order_relaxed) != nullptr; }

}  // namespace cotenant::chunk_log
